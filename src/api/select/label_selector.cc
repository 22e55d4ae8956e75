#include <algorithm>
#include <charconv>

#include "api/select/label_selector_parser.h"
#include "api/select/selector.h"

namespace flyball::api {

namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

bool ParseInt(std::string_view text, std::int64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Requires sorted values.
bool Contains(const std::vector<std::string>& values, std::string_view value) {
  // Nearly always one or two: a scan beats anything clever. But a client may send thousands.
  constexpr std::size_t kFew = 8;
  if (values.size() <= kFew) return std::find(values.begin(), values.end(), value) != values.end();
  return std::binary_search(values.begin(), values.end(), value);
}

std::string_view OperatorText(Operator op) {
  switch (op) {
    case Operator::kEquals:
      return "=";
    case Operator::kDoubleEquals:
      return "==";
    case Operator::kNotEquals:
      return "!=";
    case Operator::kIn:
      return " in ";
    case Operator::kNotIn:
      return " notin ";
    case Operator::kGreaterThan:
      return ">";
    case Operator::kLessThan:
      return "<";
    case Operator::kExists:
    case Operator::kDoesNotExist:
      return "";
  }
  return "";
}

void AppendRequirement(const Requirement& r, std::string& out) {
  if (r.op == Operator::kDoesNotExist) out += '!';
  out += r.key;
  out += OperatorText(r.op);
  const bool list = r.op == Operator::kIn || r.op == Operator::kNotIn;
  if (list) out += '(';
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    if (i > 0) out += ',';
    out += r.values[i];
  }
  if (list) out += ')';
}

void SortByKey(std::vector<Requirement>& requirements) {
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
}

Result<Operator> ExpressionOperator(std::string_view name) {
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  return Unexpected(BadRequest('"' + std::string(name) + "\" is not a valid label selector operator"));
}

Result<Requirement> FromExpression(const json::Value& expression) {
  FLYBALL_ASSIGN(Operator op, ExpressionOperator(expression["operator"].string_or("")));
  std::vector<std::string> values;
  if (const auto& given = expression["values"]; given.is_array())
    for (const auto& v : given.as_array()) values.emplace_back(v.string_or(""));
  return MakeRequirement(std::string(expression["key"].string_or("")), op, std::move(values));
}

}  // namespace

bool Requirement::Matches(const std::string_view* value) const {
  switch (op) {
    case Operator::kEquals:
    case Operator::kDoubleEquals:
    case Operator::kIn:
      return value != nullptr && Contains(values, *value);
    case Operator::kNotEquals:
    case Operator::kNotIn:
      return value == nullptr || !Contains(values, *value);
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      std::int64_t number = 0;
      if (value == nullptr || !ParseInt(*value, number)) return false;
      return op == Operator::kGreaterThan ? number > bound : number < bound;
    }
  }
  return false;
}

LabelSelector LabelSelector::Nothing() {
  LabelSelector s;
  s.nothing_ = true;
  return s;
}

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector s;
  FLYBALL_ASSIGN(s.requirements_, ParseRequirements(text));
  SortByKey(s.requirements_);
  return s;
}

Result<LabelSelector> LabelSelector::FromObject(const json::Value& selector) {
  if (selector.is_null()) return Nothing();
  LabelSelector s;
  if (const auto& labels = selector["matchLabels"]; labels.is_object()) {
    for (const auto& [key, value] : labels.as_object()) {
      FLYBALL_ASSIGN(auto requirement,
                     MakeRequirement(key, Operator::kEquals, {std::string(value.string_or(""))}));
      s.requirements_.push_back(std::move(requirement));
    }
  }
  if (const auto& expressions = selector["matchExpressions"]; expressions.is_array()) {
    for (const auto& expression : expressions.as_array()) {
      FLYBALL_ASSIGN(auto requirement, FromExpression(expression));
      s.requirements_.push_back(std::move(requirement));
    }
  }
  SortByKey(s.requirements_);
  return s;
}

LabelSelector LabelSelector::FromMap(const json::Value& labels) {
  LabelSelector s;
  if (!labels.is_object()) return s;
  for (const auto& [key, value] : labels.as_object())
    s.requirements_.push_back({key, Operator::kEquals, {std::string(value.string_or(""))}});
  SortByKey(s.requirements_);
  return s;
}

bool LabelSelector::Matches(LabelPairs labels) const {
  if (nothing_) return false;
  // Both sides are sorted by key: one walk along the two.
  auto it = labels.begin();
  for (const auto& r : requirements_) {
    while (it != labels.end() && it->first < r.key) ++it;
    const bool present = it != labels.end() && it->first == r.key;
    const std::string_view value = present ? std::string_view(it->second) : std::string_view();
    if (!r.Matches(present ? &value : nullptr)) return false;
  }
  return true;
}

bool LabelSelector::Matches(const json::Value& labels) const {
  if (nothing_) return false;
  for (const auto& r : requirements_) {
    const json::Value* found = labels.Find(r.key);
    const std::string_view value = found != nullptr ? found->string_or("") : std::string_view();
    if (!r.Matches(found != nullptr ? &value : nullptr)) return false;
  }
  return true;
}

std::optional<std::string_view> LabelSelector::RequiredValue(std::string_view key) const {
  for (const auto& r : requirements_) {
    const bool positive =
        r.op == Operator::kEquals || r.op == Operator::kDoubleEquals || r.op == Operator::kIn;
    if (positive && r.key == key && r.values.size() == 1) return r.values.front();
  }
  return std::nullopt;
}

std::string LabelSelector::ToString() const {
  std::string out;
  for (const auto& r : requirements_) {
    if (!out.empty()) out += ',';
    AppendRequirement(r, out);
  }
  return out;
}

}  // namespace flyball::api
