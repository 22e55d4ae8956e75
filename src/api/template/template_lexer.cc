#include "api/template/template_lexer.h"

#include <cstdlib>

#include "base/values/ascii.h"

namespace flyball::api {
namespace {

bool IsTemplateWordByte(char c) {
  return IsAlphanumeric(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view TakeTemplateWord(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && IsTemplateWordByte(rest[end])) ++end;
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

char UnescapedByte(char c) {
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

Result<TemplateToken> TakeTemplateString(std::string_view& rest) {
  const char quote = rest[0];
  const std::string_view from = rest;
  std::string text;
  std::size_t i = 1;
  for (; i < rest.size() && rest[i] != quote; ++i) {
    if (rest[i] == '\n' && quote != '`') break;
    if (rest[i] == '\\' && quote != '`' && i + 1 < rest.size())
      text.push_back(UnescapedByte(rest[++i]));
    else
      text.push_back(rest[i]);
  }
  if (i >= rest.size() || rest[i] != quote)
    return Unexpected(BadRequest(quote == '`'    ? "unterminated raw quoted string"
                                 : quote == '\'' ? "unterminated character constant"
                                                 : "unterminated quoted string"));
  rest.remove_prefix(i + 1);
  TemplateToken token{TemplateToken::Kind::kConstant, std::string(from.substr(0, i + 1)), {}};
  if (quote == '\'')
    token.constant = static_cast<int>(static_cast<unsigned char>(text.empty() ? '\0' : text[0]));
  else
    token.constant = text;
  return token;
}

Result<TemplateToken> TakeTemplateNumber(std::string_view& rest) {
  std::size_t end = 0;
  while (end < rest.size() && (IsAlphanumeric(rest[end]) || rest[end] == '.' || rest[end] == '_' ||
                               ((rest[end] == '+' || rest[end] == '-') &&
                                (end == 0 || rest[end - 1] == 'e' || rest[end - 1] == 'E'))))
    ++end;
  const std::string text(rest.substr(0, end));
  char* stop = nullptr;
  TemplateToken token{TemplateToken::Kind::kConstant, text, {}};
  const long long integer = std::strtoll(text.c_str(), &stop, 0);
  if (*stop == '\0') {
    token.constant = integer;
  } else {
    const double real = std::strtod(text.c_str(), &stop);
    if (*stop != '\0') return Unexpected(BadRequest("bad number syntax: \"" + text + "\""));
    token.constant = real;
  }
  rest.remove_prefix(end);
  return token;
}

TemplateToken TemplateWord(std::string_view word) {
  TemplateToken token{TemplateToken::Kind::kWord, std::string(word), {}};
  if (word == "true" || word == "false") {
    token.kind = TemplateToken::Kind::kConstant;
    token.constant = word == "true";
  } else if (word == "nil") {
    token.kind = TemplateToken::Kind::kConstant;
  }
  return token;
}

Result<TemplateToken> TakeTemplateToken(std::string_view& rest) {
  const char c = rest[0];
  if (kWhiteSpace.find(c) != std::string_view::npos) {
    const std::size_t end = std::min(rest.find_first_not_of(kWhiteSpace), rest.size());
    rest.remove_prefix(end);
    return TemplateToken{TemplateToken::Kind::kSpace, " ", {}};
  }
  if (c == '"' || c == '`' || c == '\'') return TakeTemplateString(rest);
  if (IsDigit(c) || ((c == '-' || c == '+') && rest.size() > 1 && IsDigit(rest[1])))
    return TakeTemplateNumber(rest);
  if (c == '.') {
    rest.remove_prefix(1);
    if (rest.empty() || !IsTemplateWordByte(rest[0]))
      return TemplateToken{TemplateToken::Kind::kDot, ".", {}};
    return TemplateToken{TemplateToken::Kind::kField, std::string(TakeTemplateWord(rest)), {}};
  }
  if (c == '$') {
    rest.remove_prefix(1);
    return TemplateToken{TemplateToken::Kind::kVariable, "$" + std::string(TakeTemplateWord(rest)), {}};
  }
  if (IsTemplateWordByte(c)) return TemplateWord(TakeTemplateWord(rest));
  if (rest.starts_with(":=")) {
    rest.remove_prefix(2);
    return TemplateToken{TemplateToken::Kind::kMark, ":=", {}};
  }
  if (std::string_view("()|,=").find(c) == std::string_view::npos)
    return Unexpected(BadRequest(std::string("unexpected \"") + c + "\" in operand"));
  rest.remove_prefix(1);
  return TemplateToken{TemplateToken::Kind::kMark, std::string(1, c), {}};
}

}  // namespace

Result<std::vector<TemplateToken>> LexAction(std::string_view action) {
  std::vector<TemplateToken> tokens;
  while (!action.empty()) {
    FLYBALL_ASSIGN(TemplateToken token, TakeTemplateToken(action));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace flyball::api
