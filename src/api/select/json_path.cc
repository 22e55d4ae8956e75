#include "api/select/json_path.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/values/ascii.h"

namespace flyball::api {

struct JsonPath::Step {
  enum class Kind { kField, kWildcard, kRecursive, kSlice, kUnion, kFilter };
  enum class Compare { kExists, kEqual, kNotEqual, kLess, kGreater, kLessEqual, kGreaterEqual };
  // One side of a filter: a path from the element or the root, or a literal.
  struct Operand {
    bool is_path = false, from_root = false;
    std::vector<std::shared_ptr<const Step>> path;
    json::Value literal;
  };

  Kind kind = Kind::kField;
  std::string name;                                   // kField
  std::optional<std::int64_t> begin, end;             // kSlice
  std::int64_t step = 1;                              // kSlice
  std::vector<std::shared_ptr<const Step>> branches;  // kUnion
  Compare compare = Compare::kExists;                 // kFilter
  Operand left, right;                                // kFilter
};

namespace {

using Step = JsonPath::Step;
using Steps = std::vector<std::shared_ptr<const Step>>;
using Values = std::vector<const json::Value*>;

// Filters within filters: far beyond any use, small enough for the stack.
constexpr int kMaxNesting = 8;
// No array is longer; sums of two of them cannot overflow.
constexpr std::int64_t kMaxIndex = std::int64_t{1} << 32;

Error Malformed(std::string_view what, std::string_view path) {
  return BadRequest(std::string(what) + " in JSONPath \"" + std::string(path) + '"');
}

bool IsQuoted(std::string_view s) {
  return s.size() >= 2 && (s.front() == '\'' || s.front() == '"') && s.back() == s.front();
}

std::string Unquote(std::string_view s) {
  std::string out;
  s = s.substr(1, s.size() - 2);
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size()) ++i;
    out += s[i];
  }
  return out;
}

std::optional<std::int64_t> Integer(std::string_view s) {
  std::int64_t n = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return n;
}

std::optional<double> Real(std::string_view s) {
  double d = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), d);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return d;
}

// Shows every character outside quotes to `found` until it says true; the position of that one, or npos.
template <typename Found>
std::size_t FindOutsideQuotes(std::string_view s, Found found) {
  char quote = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (found(c, i)) {
      return i;
    }
  }
  return std::string_view::npos;
}

// Splits at `separator` outside quotes, brackets and parentheses.
std::vector<std::string_view> SplitTopLevel(std::string_view s, char separator) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  FindOutsideQuotes(s, [&](char c, std::size_t i) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == separator && depth == 0) {
      out.push_back(s.substr(begin, i - begin));
      begin = i + 1;
    }
    return false;
  });
  out.push_back(s.substr(begin));
  return out;
}

class PathParser {
 public:
  PathParser(std::string_view text, int nesting) : text_(text), rest_(text), nesting_(nesting) {}

  Result<Steps> Run() {
    if (nesting_ > kMaxNesting) return Unexpected(Malformed("filters nested too deeply", text_));
    // A path may begin with a bare name.
    if (!rest_.empty() && rest_[0] != '.' && rest_[0] != '[') FLYBALL_TRY(Name());
    while (!rest_.empty()) {
      if (rest_[0] == '[') {
        FLYBALL_TRY(Bracket());
      } else if (rest_.starts_with("..")) {
        rest_.remove_prefix(rest_.size() > 2 && rest_[2] == '[' ? 2 : 1);
        Add({.kind = Step::Kind::kRecursive});
      } else if (rest_[0] == '.') {
        rest_.remove_prefix(1);
        if (rest_.empty() || rest_[0] == '[') continue;
        FLYBALL_TRY(Name());
      } else {
        return Unexpected(Malformed("unexpected character", text_));
      }
    }
    return std::move(steps_);
  }

 private:
  void Add(Step step) { steps_.push_back(std::make_shared<const Step>(std::move(step))); }

  Status Name() {
    std::string name;
    std::size_t i = 0;
    for (; i < rest_.size() && rest_[i] != '.' && rest_[i] != '['; ++i) {
      if (std::string_view(" ]{}|").find(rest_[i]) != std::string_view::npos)
        return Unexpected(Malformed("invalid character in a field name", text_));
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      name += rest_[i];
    }
    rest_.remove_prefix(i);
    if (name.empty()) return Unexpected(Malformed("empty field name", text_));
    if (name == "*")
      Add({.kind = Step::Kind::kWildcard});
    else
      Add({.kind = Step::Kind::kField, .name = std::move(name)});
    return {};
  }

  Status Bracket() {
    const std::size_t close = ClosingBracket();
    if (close == std::string_view::npos) return Unexpected(Malformed("unterminated array", text_));
    const auto inside = Trimmed(rest_.substr(1, close - 1), " ");
    rest_.remove_prefix(close + 1);
    if (inside.starts_with("?(") && inside.ends_with(')'))
      return Filter(Trimmed(inside.substr(2, inside.size() - 3), " "));
    const auto parts = SplitTopLevel(inside, ',');
    Step all{.kind = Step::Kind::kUnion};
    for (const auto part : parts) {
      auto step = Subscript(Trimmed(part, " "));
      if (!step) return Unexpected(step.error());
      all.branches.push_back(std::make_shared<const Step>(std::move(*step)));
    }
    if (all.branches.size() == 1)
      steps_.push_back(all.branches.front());
    else
      Add(std::move(all));
    return {};
  }

  std::size_t ClosingBracket() const {
    int depth = 0;
    return FindOutsideQuotes(rest_, [&](char c, std::size_t) {
      if (c == '[') ++depth;
      return c == ']' && --depth == 0;
    });
  }

  Result<Step> Subscript(std::string_view s) const {
    if (s == "*") return Step{.kind = Step::Kind::kWildcard};
    if (IsQuoted(s)) return Step{.kind = Step::Kind::kField, .name = Unquote(s)};
    const auto parts = SplitTopLevel(s, ':');
    Step slice{.kind = Step::Kind::kSlice};
    std::optional<std::int64_t> numbers[3];
    if (parts.size() > 3) return Unexpected(Malformed("invalid array index", text_));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto part = Trimmed(parts[i], " ");
      numbers[i] = Integer(part);
      if (numbers[i] && std::abs(*numbers[i]) > kMaxIndex) numbers[i].reset();
      if (!numbers[i] && (!part.empty() || parts.size() == 1))
        return Unexpected(Malformed("invalid array index", text_));
    }
    slice.begin = numbers[0];
    slice.end = numbers[1];
    // [i] is the slice of one element; after [-1] there is nothing, so its end stays open.
    if (parts.size() == 1 && *numbers[0] != -1) slice.end = *numbers[0] + 1;
    slice.step = numbers[2].value_or(1);
    if (slice.step <= 0) return Unexpected(Malformed("step must be > 0", text_));
    return slice;
  }

  Status Filter(std::string_view s) {
    static constexpr std::pair<std::string_view, Step::Compare> kOperators[] = {
        {"==", Step::Compare::kEqual},     {"!=", Step::Compare::kNotEqual},
        {"<=", Step::Compare::kLessEqual}, {">=", Step::Compare::kGreaterEqual},
        {"<", Step::Compare::kLess},       {">", Step::Compare::kGreater},
    };
    Step step{.kind = Step::Kind::kFilter};
    std::size_t at = OperatorPosition(s);
    std::string_view left = s.substr(0, at), right;
    if (at != std::string_view::npos) {
      const auto rest = s.substr(at);
      for (const auto& [text, compare] : kOperators) {
        if (!rest.starts_with(text)) continue;
        step.compare = compare;
        right = rest.substr(text.size());
        break;
      }
      if (right.empty()) return Unexpected(Malformed("invalid filter", text_));
      FLYBALL_ASSIGN(step.right, ParseOperand(Trimmed(right, " ")));
    }
    FLYBALL_ASSIGN(step.left, ParseOperand(Trimmed(left, " ")));
    if (at == std::string_view::npos && !step.left.is_path)
      return Unexpected(Malformed("invalid filter", text_));
    Add(std::move(step));
    return {};
  }

  static std::size_t OperatorPosition(std::string_view s) {
    int depth = 0;
    return FindOutsideQuotes(s, [&](char c, std::size_t) {
      if (c == '[') ++depth;
      if (c == ']') --depth;
      return depth == 0 && (c == '=' || c == '!' || c == '<' || c == '>');
    });
  }

  Result<Step::Operand> ParseOperand(std::string_view s) const {
    Step::Operand operand;
    if (s.starts_with('@') || s.starts_with('$')) {
      operand.from_root = s[0] == '$';
      operand.is_path = true;
      FLYBALL_ASSIGN(operand.path, PathParser(s.substr(1), nesting_ + 1).Run());
      return operand;
    }
    if (IsQuoted(s)) return operand.literal = Unquote(s), operand;
    if (s == "true" || s == "false") return operand.literal = s == "true", operand;
    if (auto n = Integer(s)) return operand.literal = json::Value(*n), operand;
    if (auto d = Real(s)) return operand.literal = json::Value(*d), operand;
    return Unexpected(Malformed("invalid filter", text_));
  }

  std::string_view text_, rest_;
  int nesting_;
  Steps steps_;
};

Values Walk(const Steps& steps, const json::Value& from, const json::Value& root);

void Push(Values& out, const json::Value* value) {
  if (out.size() < JsonPath::kMaxResults) out.push_back(value);
}

void PushChildren(const json::Value& value, Values& out) {
  if (value.is_array())
    for (const auto& element : value.as_array()) Push(out, &element);
  if (value.is_object())
    for (const auto& member : value.as_object()) Push(out, &member.second);
}

void PushDescendants(const json::Value& value, Values& out) {
  const std::size_t first = out.size();
  Push(out, &value);
  // Breadth first: every value pushed is visited once and adds its children.
  for (std::size_t i = first; i < out.size(); ++i) {
    const json::Value* parent = out[i];
    PushChildren(*parent, out);
  }
}

void PushSlice(const Step& step, const json::Value& value, Values& out) {
  if (!value.is_array()) return;
  const auto size = static_cast<std::int64_t>(value.size());
  std::int64_t begin = step.begin.value_or(0), end = step.end.value_or(size);
  if (begin < 0) begin += size;
  if (end < 0 || (end == 0 && step.begin.value_or(0) < 0)) end += size;
  begin = std::max<std::int64_t>(begin, 0);
  end = std::min(end, size);
  for (std::int64_t i = begin; i < end; i += std::min(step.step, size))
    Push(out, &value.as_array()[static_cast<std::size_t>(i)]);
}

// Negative, zero or positive; none if the two cannot be compared.
std::optional<int> Order(const json::Value& a, const json::Value& b) {
  if (a.is_string() && b.is_string()) return a.as_string().compare(b.as_string());
  if (a.is_int() && b.is_int()) return (a.as_int() > b.as_int()) - (a.as_int() < b.as_int());
  if (a.is_number() && b.is_number())
    return (a.as_double() > b.as_double()) - (a.as_double() < b.as_double());
  if (a.is_bool() && b.is_bool()) return int{a.as_bool()} - int{b.as_bool()};
  return std::nullopt;
}

bool Holds(Step::Compare compare, int order) {
  switch (compare) {
    case Step::Compare::kExists:
      return true;
    case Step::Compare::kEqual:
      return order == 0;
    case Step::Compare::kNotEqual:
      return order != 0;
    case Step::Compare::kLess:
      return order < 0;
    case Step::Compare::kGreater:
      return order > 0;
    case Step::Compare::kLessEqual:
      return order <= 0;
    case Step::Compare::kGreaterEqual:
      return order >= 0;
  }
  return false;
}

const json::Value* OperandValue(const Step::Operand& operand, const json::Value& element,
                                const json::Value& root) {
  if (!operand.is_path) return &operand.literal;
  const auto found = Walk(operand.path, operand.from_root ? root : element, root);
  return found.empty() ? nullptr : found.front();
}

bool Passes(const Step& step, const json::Value& element, const json::Value& root) {
  const json::Value* left = OperandValue(step.left, element, root);
  if (left == nullptr) return false;
  if (step.compare == Step::Compare::kExists) return true;
  const json::Value* right = OperandValue(step.right, element, root);
  if (right == nullptr) return false;
  const auto order = Order(*left, *right);
  return order && Holds(step.compare, *order);
}

void Apply(const Step& step, const json::Value& value, const json::Value& root, Values& out) {
  switch (step.kind) {
    case Step::Kind::kField:
      if (const auto* found = value.Find(step.name)) Push(out, found);
      return;
    case Step::Kind::kWildcard:
      return PushChildren(value, out);
    case Step::Kind::kRecursive:
      return PushDescendants(value, out);
    case Step::Kind::kSlice:
      return PushSlice(step, value, out);
    case Step::Kind::kUnion:
      for (const auto& branch : step.branches) Apply(*branch, value, root, out);
      return;
    case Step::Kind::kFilter:
      Values elements;
      PushChildren(value, elements);
      for (const auto* element : elements)
        if (Passes(step, *element, root)) Push(out, element);
      return;
  }
}

Values Walk(const Steps& steps, const json::Value& from, const json::Value& root) {
  Values at = {&from}, next;
  for (const auto& step : steps) {
    next.clear();
    for (const auto* value : at) Apply(*step, *value, root, next);
    std::swap(at, next);
    if (at.empty()) break;
  }
  return at;
}

}  // namespace

Result<JsonPath> JsonPath::Parse(std::string_view text) {
  auto body = Trimmed(text, " ");
  if (body.starts_with('{') && body.ends_with('}') && body.size() >= 2)
    body = Trimmed(body.substr(1, body.size() - 2), " ");
  if (body.starts_with('$') || body.starts_with('@')) body.remove_prefix(1);
  JsonPath path;
  FLYBALL_ASSIGN(path.steps_, PathParser(body, 0).Run());
  return path;
}

Values JsonPath::Evaluate(const json::Value& root) const {
  return Walk(steps_, root, root);
}

std::optional<std::string> JsonPath::MissingField(const json::Value& root) const {
  Values at = {&root}, next;
  for (const auto& step : steps_) {
    next.clear();
    for (const auto* value : at) Apply(*step, *value, root, next);
    if (next.empty() && !at.empty() && step->kind == Step::Kind::kField) return step->name;
    std::swap(at, next);
  }
  return std::nullopt;
}

const json::Value* JsonPath::First(const json::Value& root) const {
  const auto found = Evaluate(root);
  return found.empty() ? nullptr : found.front();
}

}  // namespace flyball::api
