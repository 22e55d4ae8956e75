#include "cli/kubectl/template/template_lexer.h"

#include <cstdlib>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

using Token = TemplateToken;

bool IsWordByte(char c) {
  return IsAlphanumeric(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view TakeWord(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && IsWordByte(rest[end])) ++end;
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

char Unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return c;
  }
}

Result<Token> TakeString(std::string_view& rest) {
  const char quote = rest[0];
  const std::string_view from = rest;
  std::string text;
  std::size_t i = 1;
  for (; i < rest.size() && rest[i] != quote; ++i) {
    if (rest[i] == '\n' && quote != '`') break;
    if (rest[i] == '\\' && quote != '`' && i + 1 < rest.size())
      text.push_back(Unescaped(rest[++i]));
    else
      text.push_back(rest[i]);
  }
  if (i >= rest.size() || rest[i] != quote)
    return Unexpected(LocalError(quote == '`'    ? "unterminated raw quoted string"
                                 : quote == '\'' ? "unterminated character constant"
                                                 : "unterminated quoted string"));
  rest.remove_prefix(i + 1);
  Token token{Token::Kind::kConstant, std::string(from.substr(0, i + 1)), {}};
  if (quote == '\'')
    token.constant = static_cast<int>(static_cast<unsigned char>(text.empty() ? '\0' : text[0]));
  else
    token.constant = text;
  return token;
}

Result<Token> TakeNumber(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && (IsAlphanumeric(rest[end]) || rest[end] == '.' || rest[end] == '_' ||
                               ((rest[end] == '+' || rest[end] == '-') &&
                                (end == 0 || rest[end - 1] == 'e' || rest[end - 1] == 'E'))))
    ++end;
  const std::string text(rest.substr(0, end));
  char* stop = nullptr;
  Token token{Token::Kind::kConstant, text, {}};
  const long long integer = std::strtoll(text.c_str(), &stop, 0);
  if (*stop == '\0') {
    token.constant = integer;
  } else {
    const double real = std::strtod(text.c_str(), &stop);
    if (*stop != '\0') return Unexpected(LocalError("bad number syntax: \"" + text + "\""));
    token.constant = real;
  }
  rest.remove_prefix(end);
  return token;
}

Token WordToken(std::string_view word) {
  Token token{Token::Kind::kWord, std::string(word), {}};
  if (word == "true" || word == "false") {
    token.kind = Token::Kind::kConstant;
    token.constant = word == "true";
  } else if (word == "nil") {
    token.kind = Token::Kind::kConstant;
  }
  return token;
}

Result<Token> TakeToken(std::string_view& rest) {
  const char c = rest[0];
  if (kWhiteSpace.find(c) != std::string_view::npos) {
    const std::size_t end = std::min(rest.find_first_not_of(kWhiteSpace), rest.size());
    rest.remove_prefix(end);
    return Token{Token::Kind::kSpace, " ", {}};
  }
  if (c == '"' || c == '`' || c == '\'') return TakeString(rest);
  if (IsDigit(c) || ((c == '-' || c == '+') && rest.size() > 1 && IsDigit(rest[1]))) return TakeNumber(rest);
  if (c == '.') {
    rest.remove_prefix(1);
    if (rest.empty() || !IsWordByte(rest[0])) return Token{Token::Kind::kDot, ".", {}};
    return Token{Token::Kind::kField, std::string(TakeWord(rest)), {}};
  }
  if (c == '$') {
    rest.remove_prefix(1);
    return Token{Token::Kind::kVariable, "$" + std::string(TakeWord(rest)), {}};
  }
  if (IsWordByte(c)) return WordToken(TakeWord(rest));
  if (rest.starts_with(":=")) {
    rest.remove_prefix(2);
    return Token{Token::Kind::kMark, ":=", {}};
  }
  if (std::string_view("()|,=").find(c) == std::string_view::npos)
    return Unexpected(LocalError(std::string("unexpected \"") + c + "\" in operand"));
  rest.remove_prefix(1);
  return Token{Token::Kind::kMark, std::string(1, c), {}};
}

}  // namespace

Result<std::vector<TemplateToken>> LexAction(std::string_view action) {
  std::vector<Token> tokens;
  while (!action.empty()) {
    FLYBALL_ASSIGN(Token token, TakeToken(action));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace flyball::cli
