#include "api/jq/jq_syntax.h"

#include <array>

#include "api/jq/jq_functions.h"
#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::api {
namespace {

// Deeper queries would use up the stack.
constexpr int kMaxJqDepth = 200;

struct JqToken {
  enum class Kind : std::uint8_t { kEnd, kField, kWord, kVariable, kNumber, kString, kMark };
  Kind kind = Kind::kEnd;
  std::string text;
  json::Value value;
  std::size_t at = 0;
};

bool IsJqWordByte(char c) {
  return IsAlphanumeric(c) || c == '_';
}

std::string AtByte(std::size_t at) {
  return " at byte " + std::to_string(at);
}

class JqLexer {
 public:
  explicit JqLexer(std::string_view text) : text_(text) {}

  Result<std::vector<JqToken>> All() {
    std::vector<JqToken> tokens;
    for (;;) {
      SkipSpace();
      FLYBALL_ASSIGN(JqToken token, Next());
      tokens.push_back(std::move(token));
      if (tokens.back().kind == JqToken::Kind::kEnd) return tokens;
    }
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() &&
           (kWhiteSpace.find(text_[at_]) != std::string_view::npos || text_[at_] == '#')) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      ++at_;
    }
  }
  std::string Word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && IsJqWordByte(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  Result<JqToken> Next() {
    const std::size_t begin = at_;
    if (at_ == text_.size()) return JqToken{JqToken::Kind::kEnd, "the end", {}, begin};
    const char c = text_[at_];
    const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c == '"') return String(begin);
    if (IsDigit(c) || (c == '.' && IsDigit(after))) return Number(begin);
    if (c == '.' && IsJqWordByte(after)) {
      ++at_;
      return JqToken{JqToken::Kind::kField, Word(), {}, begin};
    }
    if (c == '$' && IsJqWordByte(after)) {
      ++at_;
      return JqToken{JqToken::Kind::kVariable, Word(), {}, begin};
    }
    if (IsJqWordByte(c)) return JqToken{JqToken::Kind::kWord, Word(), {}, begin};
    return Mark(begin);
  }
  Result<JqToken> Mark(std::size_t begin) {
    static constexpr std::array<std::string_view, 23> kMarks = {"..", "//", "==", "!=", "<=", ">=", "|", ",",
                                                                ".",  "[",  "]",  "(",  ")",  "{",  "}", ":",
                                                                ";",  "+",  "-",  "*",  "/",  "%",  "?"};
    for (const std::string_view mark : kMarks)
      if (text_.substr(at_).starts_with(mark)) {
        at_ += mark.size();
        // `|=`, `+=` and the like change values, which is not there.
        const bool assigns = at_ < text_.size() && text_[at_] == '=' &&
                             std::string_view("|+-*/%").find(mark[0]) != std::string_view::npos;
        if (assigns) return Unexpected(BadRequest("assignments are not supported" + AtByte(begin)));
        return JqToken{JqToken::Kind::kMark, std::string(mark), {}, begin};
      }
    if (text_[at_] == '<' || text_[at_] == '>')
      return JqToken{JqToken::Kind::kMark, {text_[at_++]}, {}, begin};
    return Unexpected(BadRequest("unexpected token \"" + std::string(1, text_[at_]) + "\"" + AtByte(begin)));
  }
  Result<JqToken> Number(std::size_t begin) {
    while (at_ < text_.size() && (IsAlphanumeric(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string number(text_.substr(begin, at_ - begin));
    auto value = json::Parse(number[0] == '.' ? "0" + number : number);
    if (!value) return Unexpected(BadRequest("invalid number \"" + number + "\"" + AtByte(begin)));
    return JqToken{JqToken::Kind::kNumber, number, std::move(*value), begin};
  }
  Result<JqToken> String(std::size_t begin) {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\' && ++at_ < text_.size() && text_[at_] == '(')
        return Unexpected(BadRequest("string interpolation is not supported" + AtByte(begin)));
    if (at_ >= text_.size()) return Unexpected(BadRequest("unterminated string literal" + AtByte(begin)));
    ++at_;
    auto value = json::Parse(text_.substr(begin, at_ - begin));
    if (!value) return Unexpected(BadRequest("invalid string literal" + AtByte(begin)));
    return JqToken{JqToken::Kind::kString, std::string(value->as_string()), std::move(*value), begin};
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

JqNodePtr MakeJqNode(JqNode::Kind kind, std::vector<JqNodePtr> children = {}, std::string name = {},
                     json::Value value = {}) {
  return std::make_shared<const JqNode>(JqNode{kind, std::move(name), std::move(value), std::move(children)});
}

JqNodePtr TextNode(std::string text) {
  return MakeJqNode(JqNode::Kind::kLiteral, {}, {}, json::Value(text));
}

// Functions that run their arguments: jq_query.cc.
bool RunsArguments(std::string_view name, std::size_t arguments) {
  using Row = std::pair<std::string_view, std::size_t>;
  static constexpr std::array<Row, 17> kRows = {{{"select", 1},
                                                 {"map", 1},
                                                 {"map_values", 1},
                                                 {"any", 0},
                                                 {"any", 1},
                                                 {"any", 2},
                                                 {"all", 0},
                                                 {"all", 1},
                                                 {"all", 2},
                                                 {"first", 1},
                                                 {"last", 1},
                                                 {"isempty", 1},
                                                 {"with_entries", 1},
                                                 {"sort_by", 1},
                                                 {"recurse", 0},
                                                 {"empty", 0},
                                                 {"error", 0}}};
  for (const Row& row : kRows)
    if (row == Row(name, arguments)) return true;
  return false;
}

using ParsedJq = Result<JqNodePtr>;

class JqParser {
 public:
  explicit JqParser(std::vector<JqToken> tokens) : tokens_(std::move(tokens)) {}

  ParsedJq All() {
    FLYBALL_ASSIGN(JqNodePtr node, Pipe());
    if (Peek().kind != JqToken::Kind::kEnd) return Wrong();
    return node;
  }

 private:
  const JqToken& Peek() const { return tokens_[at_]; }
  JqToken Take() { return tokens_[Peek().kind == JqToken::Kind::kEnd ? at_ : at_++]; }
  bool TakeMark(std::string_view mark) { return TakeIf(JqToken::Kind::kMark, mark); }
  bool TakeWord(std::string_view word) { return TakeIf(JqToken::Kind::kWord, word); }
  bool TakeIf(JqToken::Kind kind, std::string_view text) {
    if (Peek().kind != kind || Peek().text != text) return false;
    ++at_;
    return true;
  }
  Unexpected Wrong() const {
    return Unexpected(BadRequest("unexpected token \"" + Peek().text + "\"" + AtByte(Peek().at)));
  }
  Status Expect(std::string_view mark) {
    if (TakeMark(mark) || TakeWord(mark)) return {};
    return Wrong();
  }

  ParsedJq Pipe() {
    if (++depth_ > kMaxJqDepth) return Unexpected(BadRequest("the query is nested too deeply"));
    FLYBALL_ASSIGN(JqNodePtr left, Comma());
    if (TakeWord("as")) {
      if (Peek().kind != JqToken::Kind::kVariable) return Wrong();
      const std::string name = Take().text;
      FLYBALL_TRY(Expect("|"));
      FLYBALL_ASSIGN(JqNodePtr body, Pipe());
      left = MakeJqNode(JqNode::Kind::kBind, {left, body}, name);
    } else if (TakeMark("|")) {
      FLYBALL_ASSIGN(JqNodePtr right, Pipe());
      left = MakeJqNode(JqNode::Kind::kPipe, {left, right});
    }
    --depth_;
    return left;
  }
  ParsedJq Comma() {
    FLYBALL_ASSIGN(JqNodePtr left, Operators(0));
    while (TakeMark(",")) {
      FLYBALL_ASSIGN(JqNodePtr right, Operators(0));
      left = MakeJqNode(JqNode::Kind::kComma, {left, right});
    }
    return left;
  }
  // The operator that comes, if it is of this level; from the loosest to the tightest.
  std::string OperatorOf(std::size_t level) const {
    static constexpr std::array<std::string_view, 6> kLevels = {
        " // ", " or ", " and ", " == != < <= > >= ", " + - ", " * / % "};
    const JqToken& token = Peek();
    if (token.kind != JqToken::Kind::kMark && token.kind != JqToken::Kind::kWord) return "";
    return kLevels[level].find(" " + token.text + " ") == std::string_view::npos ? "" : token.text;
  }
  ParsedJq Operators(std::size_t level) {
    constexpr std::size_t kTerms = 6, kAlternative = 0, kComparisons = 3;
    if (level == kTerms) return Term();
    FLYBALL_ASSIGN(JqNodePtr left, Operators(level + 1));
    for (;;) {
      const std::string op = OperatorOf(level);
      if (op.empty()) return left;
      Take();
      FLYBALL_ASSIGN(JqNodePtr right, Operators(level == kAlternative ? level : level + 1));
      left = MakeJqNode(JqNode::Kind::kOperator, {left, right}, op);
      if (level == kComparisons && !OperatorOf(level).empty()) return Wrong();
    }
  }
  ParsedJq Term() {
    FLYBALL_ASSIGN(JqNodePtr node, Head());
    for (;;) {
      if (TakeMark("?")) {
        node = MakeJqNode(JqNode::Kind::kTry, {node, nullptr});
      } else if (Peek().kind == JqToken::Kind::kField) {
        node = MakeJqNode(JqNode::Kind::kIndex, {node, TextNode(Take().text)});
      } else if (TakeMark("[")) {
        FLYBALL_ASSIGN(node, Brackets(node));
      } else if (Peek().kind == JqToken::Kind::kMark && Peek().text == ".") {
        Take();
        FLYBALL_ASSIGN(node, AfterDot(node));
      } else {
        return node;
      }
    }
  }
  // `."name"` and `.[...]` after something.
  ParsedJq AfterDot(const JqNodePtr& node) {
    if (Peek().kind == JqToken::Kind::kString)
      return MakeJqNode(JqNode::Kind::kIndex, {node, TextNode(Take().text)});
    if (TakeMark("[")) return Brackets(node);
    return Wrong();
  }
  // After `[`: `]`, `key]`, `from:to]`.
  ParsedJq Brackets(const JqNodePtr& node) {
    if (TakeMark("]")) return MakeJqNode(JqNode::Kind::kIterate, {node});
    JqNodePtr from, to;
    if (!TakeMark(":")) {
      FLYBALL_ASSIGN(from, Pipe());
      if (TakeMark("]")) return MakeJqNode(JqNode::Kind::kIndex, {node, from});
      FLYBALL_TRY(Expect(":"));
    }
    if (!TakeMark("]")) {
      FLYBALL_ASSIGN(to, Pipe());
      FLYBALL_TRY(Expect("]"));
    }
    return MakeJqNode(JqNode::Kind::kSlice, {node, from, to});
  }
  ParsedJq Head() {
    switch (Peek().kind) {
      case JqToken::Kind::kNumber:
      case JqToken::Kind::kString:
        return MakeJqNode(JqNode::Kind::kLiteral, {}, {}, Take().value);
      case JqToken::Kind::kField:
        return MakeJqNode(JqNode::Kind::kIndex, {MakeJqNode(JqNode::Kind::kIdentity), TextNode(Take().text)});
      case JqToken::Kind::kVariable:
        return MakeJqNode(JqNode::Kind::kVariable, {}, Take().text);
      case JqToken::Kind::kWord:
        return Word();
      default:
        return Marked();
    }
  }
  ParsedJq Marked() {
    if (TakeMark("..")) return MakeJqNode(JqNode::Kind::kDescend);
    if (TakeMark(".")) {
      const JqNodePtr self = MakeJqNode(JqNode::Kind::kIdentity);
      if (Peek().kind == JqToken::Kind::kString) return AfterDot(self);
      return self;
    }
    if (TakeMark("-")) {
      FLYBALL_ASSIGN(JqNodePtr what, Term());
      return MakeJqNode(JqNode::Kind::kNegate, {what});
    }
    if (TakeMark("(")) {
      FLYBALL_ASSIGN(JqNodePtr inner, Pipe());
      FLYBALL_TRY(Expect(")"));
      return inner;
    }
    if (TakeMark("[")) {
      if (TakeMark("]")) return MakeJqNode(JqNode::Kind::kArray, {nullptr});
      FLYBALL_ASSIGN(JqNodePtr inner, Pipe());
      FLYBALL_TRY(Expect("]"));
      return MakeJqNode(JqNode::Kind::kArray, {inner});
    }
    if (TakeMark("{")) return Object();
    return Wrong();
  }
  ParsedJq Object() {
    std::vector<JqNodePtr> children;
    while (!TakeMark("}")) {
      if (!children.empty()) FLYBALL_TRY(Expect(","));
      JqNodePtr key;
      const JqToken::Kind kind = Peek().kind;
      if (TakeMark("(")) {
        FLYBALL_ASSIGN(key, Pipe());
        FLYBALL_TRY(Expect(")"));
      } else if (kind == JqToken::Kind::kWord || kind == JqToken::Kind::kString ||
                 kind == JqToken::Kind::kVariable) {
        key = TextNode(Take().text);
      } else {
        return Wrong();
      }
      JqNodePtr value;
      if (TakeMark(":")) {
        FLYBALL_ASSIGN(value, Operators(0));
      } else if (kind == JqToken::Kind::kVariable) {
        value = MakeJqNode(JqNode::Kind::kVariable, {}, std::string(key->value.as_string()));
      } else {
        value = MakeJqNode(JqNode::Kind::kIndex, {MakeJqNode(JqNode::Kind::kIdentity), key});
      }
      children.insert(children.end(), {key, value});
    }
    return MakeJqNode(JqNode::Kind::kObject, std::move(children));
  }
  ParsedJq Word() {
    const JqToken word = Take();
    if (word.text == "true" || word.text == "false")
      return MakeJqNode(JqNode::Kind::kLiteral, {}, {}, json::Value(word.text == "true"));
    if (word.text == "null") return MakeJqNode(JqNode::Kind::kLiteral);
    if (word.text == "if") return If();
    if (word.text == "try") {
      FLYBALL_ASSIGN(JqNodePtr what, Term());
      JqNodePtr handler;
      if (TakeWord("catch")) {
        FLYBALL_ASSIGN(handler, Term());
      }
      return MakeJqNode(JqNode::Kind::kTry, {what, handler});
    }
    std::vector<JqNodePtr> arguments;
    if (TakeMark("(")) {
      do {
        FLYBALL_ASSIGN(JqNodePtr argument, Pipe());
        arguments.push_back(std::move(argument));
      } while (TakeMark(";"));
      FLYBALL_TRY(Expect(")"));
    }
    if (!HasJqFunction(word.text, arguments.size()) && !RunsArguments(word.text, arguments.size()))
      return Unexpected(BadRequest("function not defined: " + word.text + "/" +
                                   std::to_string(arguments.size()) + AtByte(word.at)));
    return MakeJqNode(JqNode::Kind::kCall, std::move(arguments), word.text);
  }
  // After `if` or `elif`.
  ParsedJq If() {
    FLYBALL_ASSIGN(JqNodePtr condition, Pipe());
    FLYBALL_TRY(Expect("then"));
    FLYBALL_ASSIGN(JqNodePtr then, Pipe());
    JqNodePtr otherwise;
    if (TakeWord("elif")) {
      FLYBALL_ASSIGN(otherwise, If());
      return MakeJqNode(JqNode::Kind::kIf, {condition, then, otherwise});
    }
    if (TakeWord("else")) {
      FLYBALL_ASSIGN(otherwise, Pipe());
    }
    FLYBALL_TRY(Expect("end"));
    return MakeJqNode(JqNode::Kind::kIf, {condition, then, otherwise});
  }

  const std::vector<JqToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<JqNodePtr> ParseJq(std::string_view text) {
  FLYBALL_ASSIGN(auto tokens, JqLexer(text).All());
  return JqParser(std::move(tokens)).All();
}

}  // namespace flyball::api
