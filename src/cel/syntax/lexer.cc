#include "cel/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "cel/text/utf8.h"

namespace flyball::cel {
namespace {

constexpr std::array<std::string_view, 25> kOperators = {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "[",
                                                         "]",  "{",  "}",  "(",  ")",  ".",  ",", "-", "!",
                                                         "?",  ":",  "+",  "*",  "/",  "%",  ""};

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsLexDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsLexHex(char c) {
  return IsLexDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Issue>& issues) : text_(text), issues_(issues) {}

  std::vector<Token> Run() {
    while (true) {
      SkipBlanks();
      if (at_ >= text_.size()) break;
      if (!Number() && !StringLiteral() && !Word() && !Escaped() && !Operator()) Unknown();
    }
    tokens_.push_back({TokenKind::kEnd, static_cast<std::uint32_t>(text_.size()), "<EOF>"});
    return std::move(tokens_);
  }

 private:
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void SkipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        ++at_;
      } else if (c == '/' && Peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        break;
      }
    }
  }
  bool Add(TokenKind kind, std::size_t length) {
    tokens_.push_back({kind, static_cast<std::uint32_t>(at_), text_.substr(at_, length)});
    at_ += length;
    return true;
  }
  std::size_t Digits(std::size_t from) const {
    std::size_t n = 0;
    while (IsLexDigit(Peek(from + n))) ++n;
    return n;
  }
  std::size_t Exponent(std::size_t from) const {
    if (Peek(from) != 'e' && Peek(from) != 'E') return 0;
    const std::size_t sign = Peek(from + 1) == '+' || Peek(from + 1) == '-' ? 1 : 0;
    const std::size_t digits = Digits(from + 1 + sign);
    return digits ? 1 + sign + digits : 0;
  }
  bool Number() {
    const std::size_t whole = Digits(0);
    if (Peek(whole) == '.' && Digits(whole + 1)) {
      const std::size_t length = whole + 1 + Digits(whole + 1);
      return Add(TokenKind::kFloat, length + Exponent(length));
    }
    if (!whole) return false;
    if (const std::size_t exponent = Exponent(whole)) return Add(TokenKind::kFloat, whole + exponent);
    std::size_t length = whole;
    if (whole == 1 && Peek() == '0' && Peek(1) == 'x' && IsLexHex(Peek(2))) {
      length = 2;
      while (IsLexHex(Peek(length))) ++length;
    }
    const bool is_unsigned = Peek(length) == 'u' || Peek(length) == 'U';
    return Add(is_unsigned ? TokenKind::kUint : TokenKind::kInt, length + is_unsigned);
  }
  // The length of an escape sequence at a backslash; 0 if it is none.
  std::size_t Escape(std::size_t i) const {
    const auto hex = [&](std::size_t count) {
      for (std::size_t k = 0; k < count; ++k)
        if (i + 2 + k >= text_.size() || !IsLexHex(text_[i + 2 + k])) return std::size_t{0};
      return count + 2;
    };
    if (i + 1 >= text_.size()) return 0;
    const char c = text_[i + 1];
    if (std::string_view("abfnrtv\"'\\?`").find(c) != std::string_view::npos) return 2;
    if (c == 'x' || c == 'X') return hex(2);
    if (c == 'u') return hex(4);
    if (c == 'U') return hex(8);
    if (c < '0' || c > '3' || i + 3 >= text_.size()) return 0;
    const auto octal = [&](char d) { return d >= '0' && d <= '7'; };
    return octal(text_[i + 2]) && octal(text_[i + 3]) ? 4 : 0;
  }
  // The end of a string literal that begins with a quote at `i`; 0 and where it stopped making sense if it
  // has none.
  std::size_t Quoted(std::size_t i, bool raw, std::size_t* stopped) const {
    const char quote = text_[i];
    const std::string_view triple = text_.substr(i, 3);
    const bool is_triple = triple.size() == 3 && triple[1] == quote && triple[2] == quote;
    std::size_t k = i + (is_triple ? 3 : 1);
    while (k < text_.size()) {
      if (is_triple ? text_.substr(k, 3) == triple : text_[k] == quote) return k + (is_triple ? 3 : 1);
      if (!is_triple && (text_[k] == '\n' || text_[k] == '\r')) break;
      if (!raw && text_[k] == '\\') {
        const std::size_t length = Escape(k);
        if (!length) break;
        k += length;
      } else {
        ++k;
      }
    }
    // An empty string may still precede quotes that close nothing: "" of """.
    if (is_triple) return i + 2;
    *stopped = k;
    return 0;
  }
  bool StringLiteral() {
    std::size_t i = at_;
    const bool bytes = (Peek() == 'b' || Peek() == 'B');
    if (bytes) ++i;
    const bool raw = i < text_.size() && (text_[i] == 'r' || text_[i] == 'R');
    if (raw) ++i;
    if (i >= text_.size() || (text_[i] != '"' && text_[i] != '\'')) return false;
    std::size_t stopped = 0;
    if (const std::size_t end = Quoted(i, raw, &stopped))
      return Add(bytes ? TokenKind::kBytes : TokenKind::kString, end - at_);
    // The prefix letters are an identifier then.
    if (i != at_) return false;
    Report(std::min(stopped + 1, text_.size()) - at_);
    return true;
  }
  bool Word() {
    if (!IsLetter(Peek())) return false;
    std::size_t length = 1;
    while (IsLetter(Peek(length)) || IsLexDigit(Peek(length))) ++length;
    const std::string_view word = text_.substr(at_, length);
    if (word == "true") return Add(TokenKind::kTrue, length);
    if (word == "false") return Add(TokenKind::kFalse, length);
    if (word == "null") return Add(TokenKind::kNull, length);
    if (word == "in") return Add(TokenKind::kIn, length);
    return Add(TokenKind::kIdentifier, length);
  }
  bool Escaped() {
    if (Peek() != '`') return false;
    std::size_t length = 1;
    while (IsLetter(Peek(length)) || IsLexDigit(Peek(length)) ||
           (at_ + length < text_.size() &&
            std::string_view("._-/ ").find(Peek(length)) != std::string_view::npos))
      ++length;
    if (length > 1 && Peek(length) == '`') return Add(TokenKind::kEscapedIdentifier, length + 1);
    Report(std::min(length + 1, text_.size() - at_));
    return true;
  }
  bool Operator() {
    for (std::string_view op : kOperators)
      if (!op.empty() && text_.substr(at_).starts_with(op)) return Add(TokenKind::kOperator, op.size());
    return false;
  }
  void Unknown() {
    // One of '=', '&' and '|' could have begun an operator: the next character is part of the complaint.
    std::size_t length = DecodeRune(text_, at_).length;
    if (std::string_view("=&|").find(text_[at_]) != std::string_view::npos && at_ + 1 < text_.size())
      length += DecodeRune(text_, at_ + 1).length;
    Report(length);
  }
  void Report(std::size_t length) {
    std::string shown;
    for (char c : text_.substr(at_, length)) {
      if (c == '\n')
        shown += "\\n";
      else if (c == '\t')
        shown += "\\t";
      else if (c == '\r')
        shown += "\\r";
      else
        shown += c;
    }
    issues_.push_back({at_, "Syntax error: token recognition error at: '" + shown + "'", 0});
    at_ += length;
  }

  std::string_view text_;
  std::vector<Issue>& issues_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view text, std::vector<Issue>& issues) {
  return Lexer(text, issues).Run();
}

}  // namespace flyball::cel
