// Sets of tokens, for messages about what the grammar expects. A set prints as upstream's generated parser
// prints it: in the order in which the grammar declares tokens. Functions only; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cel/syntax/lexer.h"

namespace flyball::cel {

// In the order of the grammar.
inline constexpr std::array<std::string_view, 36> kTokenNames = {
    "<EOF>", "==",   "!=",        "in",      "<",        "<=",     ">=",    ">",          "&&",
    "||",    "[",    "]",         "{",       "}",        "(",      ")",     ".",          ",",
    "-",     "!",    "?",         ":",       "+",        "*",      "/",     "%",          "true",
    "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"};

class TokenSet {
 public:
  constexpr TokenSet() = default;
  // Of operators and of the names that the grammar gives to other tokens, such as IDENTIFIER or <EOF>.
  static constexpr TokenSet Of(std::initializer_list<std::string_view> names) {
    TokenSet set;
    for (const std::string_view name : names) set.bits_ |= BitOf(name);
    return set;
  }

  constexpr TokenSet operator|(TokenSet other) const { return TokenSet(bits_ | other.bits_); }
  constexpr TokenSet Without(TokenSet other) const { return TokenSet(bits_ & ~other.bits_); }
  bool Has(const Token& token) const;
  // "':'", or "{'}', ','}" if there are several.
  std::string ToString() const;

 private:
  static constexpr std::uint64_t BitOf(std::string_view name) {
    for (std::size_t i = 0; i < kTokenNames.size(); ++i)
      if (kTokenNames[i] == name) return std::uint64_t{1} << i;
    return 0;
  }
  explicit constexpr TokenSet(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

}  // namespace flyball::cel
