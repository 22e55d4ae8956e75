#include "api/select/label_selector_parser.h"

#include <algorithm>
#include <charconv>

#include "api/rules/format.h"
#include "api/values/go_text.h"

namespace flyball::api {

namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

enum class Token {
  kError,
  kEnd,
  kIdentifier,
  kOpen,
  kClose,
  kComma,
  kNot,
  kEquals,
  kDoubleEquals,
  kNotEquals,
  kGreater,
  kLess,
  kIn,
  kNotIn
};

struct Lexeme {
  Token token = Token::kError;
  std::string text;
};

bool IsSymbol(char c) {
  return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

Token SymbolToken(std::string_view s) {
  if (s == "(") return Token::kOpen;
  if (s == ")") return Token::kClose;
  if (s == ",") return Token::kComma;
  if (s == "!") return Token::kNot;
  if (s == "=") return Token::kEquals;
  if (s == "==") return Token::kDoubleEquals;
  if (s == "!=") return Token::kNotEquals;
  if (s == ">") return Token::kGreater;
  if (s == "<") return Token::kLess;
  return Token::kError;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Lexeme Next() {
    while (pos_ < text_.size() && IsSpace(text_[pos_])) ++pos_;
    if (AtEnd()) return {Token::kEnd, ""};
    return IsSymbol(text_[pos_]) ? Symbol() : Word();
  }

 private:
  // A NUL ends the text, as it does upstream.
  bool AtEnd() const { return pos_ >= text_.size() || text_[pos_] == '\0'; }

  // The longest run of symbol characters that is an operator.
  Lexeme Symbol() {
    Lexeme last;
    std::string run;
    while (!AtEnd() && IsSymbol(text_[pos_])) {
      run += text_[pos_];
      const Token token = SymbolToken(run);
      if (token == Token::kError && last.token != Token::kError) break;
      if (token != Token::kError) last = {token, run};
      ++pos_;
    }
    if (last.token == Token::kError) last.text = "error expected: keyword found '" + run + "'";
    return last;
  }

  Lexeme Word() {
    const std::size_t begin = pos_;
    while (!AtEnd() && !IsSymbol(text_[pos_]) && !IsSpace(text_[pos_])) ++pos_;
    std::string word(text_.substr(begin, pos_ - begin));
    if (word == "in") return {Token::kIn, word};
    if (word == "notin") return {Token::kNotIn, word};
    return {Token::kIdentifier, std::move(word)};
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

// `path: Invalid value: "value": problem; problem`.
std::string InvalidValueText(std::string_view path, std::string_view value, const Problems& problems) {
  std::string out = std::string(path) + ": Invalid value: " + GoQuote(value) + ": ";
  for (std::size_t i = 0; i < problems.size(); ++i) out += (i > 0 ? "; " : "") + problems[i];
  return out;
}

Error Found(const Lexeme& lexeme, std::string_view expected) {
  return BadRequest("found '" + lexeme.text + "'" + std::string(expected));
}

class Parser {
 public:
  explicit Parser(std::string_view text) {
    Lexer lexer(text);
    do lexemes_.push_back(lexer.Next());
    while (lexemes_.back().token != Token::kEnd);
  }

  Result<std::vector<Requirement>> Run() {
    std::vector<Requirement> out;
    while (true) {
      const Token token = PeekValue();
      if (token == Token::kEnd) return out;
      if (token != Token::kIdentifier && token != Token::kNot)
        return Unexpected(Found(Peek(), ", expected: !, identifier, or 'end of string'"));
      auto requirement = ParseRequirement();
      if (!requirement) return Unexpected(requirement.error().Annotate("unable to parse requirement"));
      out.push_back(std::move(*requirement));
      const Lexeme& after = Take();
      if (after.token == Token::kEnd) return out;
      if (after.token != Token::kComma) return Unexpected(Found(after, ", expected: ',' or 'end of string'"));
      if (const Token next = PeekValue(); next != Token::kIdentifier && next != Token::kNot)
        return Unexpected(Found(Peek(), ", expected: identifier after ','"));
    }
  }

 private:
  const Lexeme& Peek() const { return lexemes_[std::min(pos_, lexemes_.size() - 1)]; }
  const Lexeme& Take() {
    const Lexeme& lexeme = Peek();
    ++pos_;
    return lexeme;
  }
  // Where a key or a value may stand, "in" and "notin" are words like any other.
  static Token AsValue(Token token) {
    return token == Token::kIn || token == Token::kNotIn ? Token::kIdentifier : token;
  }
  Token PeekValue() const { return AsValue(Peek().token); }

  Result<Requirement> ParseRequirement() {
    const bool negated = PeekValue() == Token::kNot;
    if (negated) Take();
    const Lexeme& key = Take();
    if (AsValue(key.token) != Token::kIdentifier) return Unexpected(Found(key, ", expected: identifier"));
    if (auto problems = QualifiedNameProblems(key.text); !problems.empty())
      return Unexpected(BadRequest(InvalidValueText("<nil>", key.text, problems)));
    if (negated) return MakeRequirement(key.text, Operator::kDoesNotExist, {});
    if (PeekValue() == Token::kEnd || PeekValue() == Token::kComma)
      return MakeRequirement(key.text, Operator::kExists, {});
    FLYBALL_ASSIGN(const Operator op, ParseOperator());
    auto values = op == Operator::kIn || op == Operator::kNotIn ? ParseValues() : ParseExactValue();
    if (!values) return Unexpected(values.error());
    return MakeRequirement(key.text, op, std::move(*values));
  }

  Result<Operator> ParseOperator() {
    const Lexeme& lexeme = Take();
    switch (lexeme.token) {
      case Token::kIn:
        return Operator::kIn;
      case Token::kNotIn:
        return Operator::kNotIn;
      case Token::kEquals:
        return Operator::kEquals;
      case Token::kDoubleEquals:
        return Operator::kDoubleEquals;
      case Token::kNotEquals:
        return Operator::kNotEquals;
      case Token::kGreater:
        return Operator::kGreaterThan;
      case Token::kLess:
        return Operator::kLessThan;
      default:
        return Unexpected(Found(lexeme, ", expected: in, notin, =, ==, !=, gt, lt"));
    }
  }

  Result<std::vector<std::string>> ParseValues() {
    if (const Lexeme& open = Take(); open.token != Token::kOpen)
      return Unexpected(Found(open, " expected: '('"));
    const Lexeme& first = Peek();
    if (first.token == Token::kClose) {
      Take();
      return std::vector<std::string>{""};
    }
    if (PeekValue() != Token::kIdentifier && first.token != Token::kComma)
      return Unexpected(Found(first, ", expected: ',', ')' or identifier"));
    FLYBALL_ASSIGN(auto values, ParseValueList());
    if (Take().token != Token::kClose) return Unexpected(Found(first, ", expected: ')'"));
    return values;
  }

  // Up to the closing parenthesis, which it leaves. A missing value between commas is the empty value.
  Result<std::vector<std::string>> ParseValueList() {
    std::vector<std::string> values;
    while (true) {
      const Lexeme& lexeme = Take();
      if (AsValue(lexeme.token) == Token::kIdentifier) {
        values.push_back(lexeme.text);
        if (Peek().token == Token::kClose) return values;
        if (Peek().token != Token::kComma) return Unexpected(Found(Peek(), ", expected: ',' or ')'"));
      } else if (lexeme.token == Token::kComma) {
        if (values.empty()) values.emplace_back();
        if (Peek().token == Token::kClose || Peek().token == Token::kComma) values.emplace_back();
        if (Peek().token == Token::kClose) return values;
        if (Peek().token == Token::kComma) Take();
      } else {
        return Unexpected(Found(lexeme, ", expected: ',', or identifier"));
      }
    }
  }

  Result<std::vector<std::string>> ParseExactValue() {
    if (PeekValue() == Token::kEnd || PeekValue() == Token::kComma) return std::vector<std::string>{""};
    const Lexeme& value = Take();
    if (AsValue(value.token) != Token::kIdentifier) return Unexpected(Found(value, ", expected: identifier"));
    return std::vector<std::string>{value.text};
  }

  std::vector<Lexeme> lexemes_;
  std::size_t pos_ = 0;
};

bool IsInteger(std::string_view text, std::int64_t& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

std::string JsonList(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const auto& v : values) out += (out.size() > 1 ? ",\"" : "\"") + v + '"';
  return out + ']';
}

// What is wrong with the number of values, or empty.
std::string_view CountProblem(Operator op, std::size_t count) {
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      return count == 0 ? "for 'in', 'notin' operators, values set can't be empty" : "";
    case Operator::kEquals:
    case Operator::kDoubleEquals:
    case Operator::kNotEquals:
      return count != 1 ? "exact-match compatibility requires one single value" : "";
    case Operator::kExists:
    case Operator::kDoesNotExist:
      return count != 0 ? "values set must be empty for exists and does not exist" : "";
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      return count != 1 ? "for 'Gt', 'Lt' operators, exactly one value is required" : "";
  }
  return "";
}

std::string JoinErrors(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors.front();
  std::string out;
  for (const auto& e : errors) out += (out.empty() ? "[" : ", ") + e;
  return out + ']';
}

}  // namespace

Result<std::vector<Requirement>> ParseRequirements(std::string_view text) {
  return Parser(text).Run();
}

Result<Requirement> MakeRequirement(std::string key, Operator op, std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  Requirement r{std::move(key), op, std::move(values), 0};
  std::vector<std::string> errors;
  if (auto problems = QualifiedNameProblems(r.key); !problems.empty())
    errors.push_back(InvalidValueText("key", r.key, problems));
  if (auto problem = CountProblem(op, r.values.size()); !problem.empty())
    errors.push_back("values: Invalid value: " + JsonList(r.values) + ": " + std::string(problem));
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    const std::string path = "values[" + std::to_string(i) + "]";
    if ((op == Operator::kGreaterThan || op == Operator::kLessThan) && !IsInteger(r.values[i], r.bound))
      errors.push_back(
          InvalidValueText(path, r.values[i], {"for 'Gt', 'Lt' operators, the value must be an integer"}));
    if (auto problems = LabelValueFormatProblems(r.values[i]); !problems.empty())
      errors.push_back(InvalidValueText(path + "[" + r.key + "]", r.values[i], problems));
  }
  if (!errors.empty()) return Unexpected(BadRequest(JoinErrors(errors)));
  return r;
}

}  // namespace flyball::api
