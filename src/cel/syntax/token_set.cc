#include "cel/syntax/token_set.h"

namespace flyball::cel {
namespace {

std::string_view NameOf(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "<EOF>";
    case TokenKind::kIdentifier:
      return "IDENTIFIER";
    case TokenKind::kEscapedIdentifier:
      return "ESC_IDENTIFIER";
    case TokenKind::kInt:
      return "NUM_INT";
    case TokenKind::kUint:
      return "NUM_UINT";
    case TokenKind::kFloat:
      return "NUM_FLOAT";
    case TokenKind::kString:
      return "STRING";
    case TokenKind::kBytes:
      return "BYTES";
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNull:
    case TokenKind::kIn:
    case TokenKind::kOperator:
      return token.text;
  }
  return token.text;
}

bool IsWritten(std::string_view name) {
  return name != "<EOF>" && (name[0] < 'A' || name[0] > 'Z');
}

}  // namespace

bool TokenSet::Has(const Token& token) const {
  return (bits_ & BitOf(NameOf(token))) != 0;
}

std::string TokenSet::ToString() const {
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < kTokenNames.size(); ++i) {
    if (!(bits_ >> i & 1)) continue;
    if (count++ > 0) text += ", ";
    const std::string name(kTokenNames[i]);
    text += IsWritten(name) ? "'" + name + "'" : name;
  }
  return count == 1 ? text : "{" + text + "}";
}

}  // namespace flyball::cel
