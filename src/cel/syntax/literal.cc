#include "cel/syntax/literal.h"

#include <cstdint>

#include "cel/text/utf8.h"

namespace flyball::cel {
namespace {

char SimpleEscape(char c) {
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return c;
  }
}

std::uint32_t DigitValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0');
  return static_cast<std::uint32_t>((c | 32) - 'a' + 10);
}

}  // namespace

bool UnquoteLiteral(std::string_view literal, bool bytes, std::string* text, std::string* problem) {
  const bool raw = literal[0] == 'r' || literal[0] == 'R';
  if (raw) literal.remove_prefix(1);
  const std::size_t quotes =
      literal.size() >= 6 && literal[1] == literal[0] && literal[2] == literal[0] ? 3 : 1;
  literal = literal.substr(quotes, literal.size() - 2 * quotes);
  if (raw || literal.find('\\') == std::string_view::npos) {
    *text = literal;
    return true;
  }
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\') {
      *text += literal[i];
      continue;
    }
    const char c = literal[++i];
    std::size_t digits = 0;
    std::uint32_t base = 16;
    if (c == 'x' || c == 'X') digits = 2;
    if (c == 'u') digits = 4;
    if (c == 'U') digits = 8;
    if (c >= '0' && c <= '3') {
      digits = 3;
      base = 8;
      --i;
    }
    if (!digits) {
      *text += SimpleEscape(c);
      continue;
    }
    if (bytes && digits >= 4) {
      *problem = "unable to unescape string";
      return false;
    }
    std::uint32_t code = 0;
    for (std::size_t k = 0; k < digits; ++k) code = code * base + DigitValue(literal[++i]);
    if (bytes) {
      *text += static_cast<char>(code);
    } else if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      *problem = "invalid unicode code point";
      return false;
    } else {
      AppendRune(*text, code);
    }
  }
  return true;
}

}  // namespace flyball::cel
