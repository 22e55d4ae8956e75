// Tokens of an expression. Confined to one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/syntax/source.h"

namespace flyball::cel {

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,
  kEscapedIdentifier,  // `with-dashes`
  kInt,
  kUint,
  kFloat,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kOperator  // everything else, told apart by its text
};

struct Token {
  TokenKind kind;
  std::uint32_t offset;  // in bytes
  std::string_view text;
  bool Is(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
};

// All tokens, the last one kEnd. What is no token is reported and left out.
std::vector<Token> Tokenize(std::string_view text, std::vector<Issue>& issues);

}  // namespace flyball::cel
