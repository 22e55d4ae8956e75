#include "api/jq/jq_functions.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using JqArgs = std::vector<json::Value>;
using JqResult = Result<json::Value>;

Unexpected CannotBeApplied(std::string_view name, const json::Value& to) {
  return Unexpected(BadRequest(std::string(name) + " cannot be applied to: " + std::string(JqTypeOf(to))));
}

json::Value JqWhole(std::size_t n) {
  return json::Value(static_cast<long long>(n));
}

// As a whole number where it is one.
json::Value JqNumber(double d) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::floor(d) == d && std::fabs(d) <= kExact) return json::Value(static_cast<long long>(d));
  return json::Value(d);
}

std::string JqText(const json::Value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::Write(value);
}

JqResult JqLength(const json::Value& input, const JqArgs&) {
  if (input.is_null()) return json::Value(0);
  if (input.is_number()) return JqNumber(std::fabs(input.as_double()));
  if (input.is_bool()) return CannotBeApplied("length", input);
  if (!input.is_string()) return JqWhole(input.size());
  return JqWhole(
      static_cast<std::size_t>(std::count_if(input.as_string().begin(), input.as_string().end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // bytes that begin a character
      })));
}

JqResult JqKeysOf(const json::Value& input, const JqArgs&) {
  json::Array keys;
  if (input.is_array()) {
    for (std::size_t i = 0; i < input.size(); ++i) keys.push_back(JqWhole(i));
  } else if (input.is_object()) {
    json::Object sorted = input.as_object();
    sorted.SortKeys();
    for (const auto& [key, member] : sorted) keys.emplace_back(key);
  } else {
    return CannotBeApplied("keys", input);
  }
  return json::Value(std::move(keys));
}

JqResult JqHasKey(const json::Value& input, const json::Value& key) {
  if (input.is_object() && key.is_string()) return json::Value(input.Find(key.as_string()) != nullptr);
  if (input.is_array() && key.is_number())
    return json::Value(key.as_double() >= 0 && key.as_double() < static_cast<double>(input.size()));
  return CannotBeApplied("has", input);
}

// Whether a has all that b has: substrings of strings, some element for each, every member.
Result<bool> JqContains(const json::Value& a, const json::Value& b) {
  if (JqTypeOf(a) != JqTypeOf(b)) return CannotBeApplied("contains", a);
  if (a.is_string()) return a.as_string().find(b.as_string()) != std::string_view::npos;
  if (a.is_object()) {
    for (const auto& [key, want] : b.as_object()) {
      const json::Value* have = a.Find(key);
      if (!have) return false;
      FLYBALL_ASSIGN(const bool inside, JqContains(*have, want));
      if (!inside) return false;
    }
    return true;
  }
  if (!a.is_array()) return JqCompare(a, b) == 0;
  return std::all_of(b.as_array().begin(), b.as_array().end(), [&](const json::Value& want) {
    return std::any_of(a.as_array().begin(), a.as_array().end(), [&](const json::Value& have) {
      const auto inside = JqContains(have, want);
      return inside && *inside;
    });
  });
}

JqResult JqTest(const json::Value& input, const JqArgs& args) {
  if (!input.is_string()) return CannotBeApplied("test", input);
  if (!args[0].is_string()) return CannotBeApplied("test", args[0]);
  RE2::Options options;
  options.set_log_errors(false);
  if (args.size() > 1 && args[1].is_string()) options.set_case_sensitive(args[1].as_string() != "i");
  const std::string pattern(args[0].as_string());
  const RE2 expression(pattern, options);
  if (!expression.ok()) return Unexpected(BadRequest("invalid regular expression: " + pattern));
  return json::Value(RE2::PartialMatch(std::string(input.as_string()), expression));
}

// Of a function on a string with a string.
template <typename Fn>
JqResult OfStrings(std::string_view name, const json::Value& input, const json::Value& arg, Fn fn) {
  if (!input.is_string()) return CannotBeApplied(name, input);
  if (!arg.is_string()) return CannotBeApplied(name, arg);
  return json::Value(fn(input.as_string(), arg.as_string()));
}

// As strings do that do not begin or end so, other values stay as they are.
JqResult WithoutEnd(const json::Value& input, const json::Value& end, bool left) {
  if (!input.is_string() || !end.is_string()) return input;
  std::string_view text = input.as_string();
  if (left && text.starts_with(end.as_string())) text.remove_prefix(end.as_string().size());
  if (!left && text.ends_with(end.as_string())) text.remove_suffix(end.as_string().size());
  return json::Value(text);
}

JqResult JqSplit(const json::Value& input, const JqArgs& args) {
  if (!input.is_string()) return CannotBeApplied("split", input);
  if (!args[0].is_string()) return CannotBeApplied("split", args[0]);
  std::string_view text = input.as_string();
  const std::string_view by = args[0].as_string();
  json::Array parts;
  if (text.empty()) return json::Value(std::move(parts));
  while (true) {
    const std::size_t end = by.empty() ? std::size_t{text.size() > 1 ? 1U : 0U} : text.find(by);
    if (end == std::string_view::npos || (by.empty() && end == 0)) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + by.size());
  }
  parts.emplace_back(text);
  return json::Value(std::move(parts));
}

JqResult JqJoin(const json::Value& input, const JqArgs& args) {
  if (!input.is_array()) return CannotBeApplied("join", input);
  if (!args[0].is_string()) return CannotBeApplied("join", args[0]);
  std::string out;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const json::Value& item = input.as_array()[i];
    if (item.is_array() || item.is_object()) return CannotBeApplied("join", item);
    if (i > 0) out += args[0].as_string();
    if (!item.is_null()) out += JqText(item);
  }
  return json::Value(out);
}

JqResult JqToEntries(const json::Value& input, const JqArgs&) {
  if (!input.is_object()) return CannotBeApplied("to_entries", input);
  json::Object sorted = input.as_object();
  sorted.SortKeys();
  json::Array entries;
  for (const auto& [key, member] : sorted)
    entries.emplace_back(json::Object{{"key", key}, {"value", member}});
  return json::Value(std::move(entries));
}

JqResult JqFromEntries(const json::Value& input, const JqArgs&) {
  if (!input.is_array()) return CannotBeApplied("from_entries", input);
  json::Object object;
  for (const json::Value& entry : input.as_array()) {
    const json::Value* name = nullptr;
    for (const char* member : {"key", "k", "name"})
      if (!name) name = entry.Find(member);
    const json::Value* value = entry.Find("value") ? entry.Find("value") : entry.Find("v");
    if (!name || name->is_array() || name->is_object()) return CannotBeApplied("from_entries", entry);
    object.Set(JqText(*name), value ? *value : json::Value());
  }
  return json::Value(std::move(object));
}

JqResult JqSorted(std::string_view name, const json::Value& input, bool unique) {
  if (!input.is_array()) return CannotBeApplied(name, input);
  json::Array items = input.as_array();
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return JqCompare(a, b) < 0; });
  if (unique)
    items.erase(std::unique(items.begin(), items.end(),
                            [](const auto& a, const auto& b) { return JqCompare(a, b) == 0; }),
                items.end());
  return json::Value(std::move(items));
}

JqResult JqExtreme(std::string_view name, const json::Value& input) {
  FLYBALL_ASSIGN(const json::Value sorted, JqSorted(name, input, false));
  if (sorted.empty()) return json::Value();
  return name == "min" ? sorted.as_array().front() : sorted.as_array().back();
}

JqResult JqAdd(const json::Value& input, const JqArgs&) {
  if (!input.is_array() && !input.is_object()) return CannotBeApplied("add", input);
  json::Value sum;
  const auto add = [&](const json::Value& item) -> Status {
    FLYBALL_ASSIGN(sum, JqOperate("+", sum, item));
    return {};
  };
  if (input.is_array())
    for (const json::Value& item : input.as_array()) FLYBALL_TRY(add(item));
  else
    for (const auto& [key, member] : input.as_object()) FLYBALL_TRY(add(member));
  return sum;
}

JqResult JqReversed(const json::Value& input, const JqArgs&) {
  if (input.is_null()) return json::Value(json::Array{});
  if (!input.is_array()) return CannotBeApplied("reverse", input);
  return json::Value(json::Array(input.as_array().rbegin(), input.as_array().rend()));
}

void JqFlatten(const json::Value& value, json::Array& out) {
  for (const json::Value& item : value.as_array()) {
    if (item.is_array())
      JqFlatten(item, out);
    else
      out.push_back(item);
  }
}

JqResult JqRounded(std::string_view name, const json::Value& input) {
  if (!input.is_number()) return CannotBeApplied(name, input);
  const double d = input.as_double();
  return JqNumber(name == "floor" ? std::floor(d) : name == "ceil" ? std::ceil(d) : std::round(d));
}

JqResult JqToNumber(const json::Value& input, const JqArgs&) {
  if (input.is_number()) return input;
  if (!input.is_string()) return CannotBeApplied("tonumber", input);
  auto number = json::Parse(input.as_string());
  if (!number || !number->is_number()) return Unexpected(BadRequest("invalid number: " + json::Write(input)));
  return std::move(*number);
}

JqResult JqFromJson(const json::Value& input, const JqArgs&) {
  if (!input.is_string()) return CannotBeApplied("fromjson", input);
  return json::Parse(input.as_string());
}

JqResult JqIndexOf(const json::Value& input, const JqArgs& args) {
  if (input.is_null()) return json::Value();
  if (!input.is_string()) return CannotBeApplied("index", input);
  if (!args[0].is_string()) return CannotBeApplied("index", args[0]);
  const std::size_t at = input.as_string().find(args[0].as_string());
  return at == std::string_view::npos ? json::Value() : JqWhole(at);
}

JqResult JqTrim(const json::Value& input, const JqArgs&) {
  if (!input.is_string()) return CannotBeApplied("trim", input);
  return json::Value(Trimmed(input.as_string()));
}

JqResult JqFlattened(const json::Value& input, const JqArgs&) {
  if (!input.is_array()) return CannotBeApplied("flatten", input);
  json::Array out;
  JqFlatten(input, out);
  return json::Value(std::move(out));
}

JqResult InOtherCase(const json::Value& input, bool upper) {
  if (!input.is_string()) return CannotBeApplied(upper ? "ascii_upcase" : "ascii_downcase", input);
  return json::Value(upper ? UpperCase(input.as_string()) : LowerCase(input.as_string()));
}

JqResult JqAt(std::string_view name, const json::Value& input, bool first) {
  if (input.is_null()) return json::Value();
  if (!input.is_array()) return CannotBeApplied(name, input);
  if (input.empty()) return json::Value();
  return first ? input.as_array().front() : input.as_array().back();
}

JqResult JqContainsAll(const json::Value& whole, const json::Value& part) {
  FLYBALL_ASSIGN(const bool inside, JqContains(whole, part));
  return json::Value(inside);
}

struct JqFunctionRow {
  std::string_view name;
  std::size_t arguments;
  JqResult (*call)(const json::Value& input, const JqArgs& args);
};
using JqInput = const json::Value&;
constexpr JqFunctionRow kJqFunctions[] = {
    {"add", 0, &JqAdd},
    {"ascii_downcase", 0, [](JqInput in, const JqArgs&) { return InOtherCase(in, false); }},
    {"ascii_upcase", 0, [](JqInput in, const JqArgs&) { return InOtherCase(in, true); }},
    {"ceil", 0, [](JqInput in, const JqArgs&) { return JqRounded("ceil", in); }},
    {"contains", 1, [](JqInput in, const JqArgs& a) { return JqContainsAll(in, a[0]); }},
    {"endswith", 1,
     [](JqInput in, const JqArgs& a) {
       return OfStrings("endswith", in, a[0], [](auto text, auto end) { return text.ends_with(end); });
     }},
    {"first", 0, [](JqInput in, const JqArgs&) { return JqAt("first", in, true); }},
    {"flatten", 0, &JqFlattened},
    {"floor", 0, [](JqInput in, const JqArgs&) { return JqRounded("floor", in); }},
    {"from_entries", 0, &JqFromEntries},
    {"fromjson", 0, &JqFromJson},
    {"has", 1, [](JqInput in, const JqArgs& a) { return JqHasKey(in, a[0]); }},
    {"in", 1, [](JqInput in, const JqArgs& a) { return JqHasKey(a[0], in); }},
    {"index", 1, &JqIndexOf},
    {"inside", 1, [](JqInput in, const JqArgs& a) { return JqContainsAll(a[0], in); }},
    {"join", 1, &JqJoin},
    {"keys", 0, &JqKeysOf},
    {"keys_unsorted", 0, &JqKeysOf},
    {"last", 0, [](JqInput in, const JqArgs&) { return JqAt("last", in, false); }},
    {"length", 0, &JqLength},
    {"ltrimstr", 1, [](JqInput in, const JqArgs& a) { return WithoutEnd(in, a[0], true); }},
    {"max", 0, [](JqInput in, const JqArgs&) { return JqExtreme("max", in); }},
    {"min", 0, [](JqInput in, const JqArgs&) { return JqExtreme("min", in); }},
    {"not", 0, [](JqInput in, const JqArgs&) { return JqResult(json::Value(!JqIsTrue(in))); }},
    {"reverse", 0, &JqReversed},
    {"round", 0, [](JqInput in, const JqArgs&) { return JqRounded("round", in); }},
    {"rtrimstr", 1, [](JqInput in, const JqArgs& a) { return WithoutEnd(in, a[0], false); }},
    {"sort", 0, [](JqInput in, const JqArgs&) { return JqSorted("sort", in, false); }},
    {"split", 1, &JqSplit},
    {"startswith", 1,
     [](JqInput in, const JqArgs& a) {
       return OfStrings("startswith", in, a[0],
                        [](auto text, auto start) { return text.starts_with(start); });
     }},
    {"test", 1, &JqTest},
    {"test", 2, &JqTest},
    {"to_entries", 0, &JqToEntries},
    {"tojson", 0, [](JqInput in, const JqArgs&) { return JqResult(json::Value(json::Write(in))); }},
    {"tonumber", 0, &JqToNumber},
    {"tostring", 0, [](JqInput in, const JqArgs&) { return JqResult(json::Value(JqText(in))); }},
    {"trim", 0, &JqTrim},
    {"type", 0, [](JqInput in, const JqArgs&) { return JqResult(json::Value(JqTypeOf(in))); }},
    {"unique", 0, [](JqInput in, const JqArgs&) { return JqSorted("unique", in, true); }},
};

const JqFunctionRow* FindJqFunction(std::string_view name, std::size_t arguments) {
  for (const JqFunctionRow& row : kJqFunctions)
    if (row.name == name && row.arguments == arguments) return &row;
  return nullptr;
}

int JqRank(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kNull:
      return 0;
    case json::Value::Kind::kBool:
      return value.as_bool() ? 2 : 1;
    case json::Value::Kind::kInt:
    case json::Value::Kind::kDouble:
      return 3;
    case json::Value::Kind::kString:
      return 4;
    case json::Value::Kind::kArray:
      return 5;
    case json::Value::Kind::kObject:
      return 6;
  }
  return 0;
}

template <typename T>
int JqOrder(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareArrays(const json::Array& a, const json::Array& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (const int order = JqCompare(a[i], b[i]); order != 0) return order;
  return JqOrder(a.size(), b.size());
}

// By their keys, then by what these hold.
int CompareObjects(json::Object a, json::Object b) {
  a.SortKeys();
  b.SortKeys();
  json::Array a_keys, b_keys, a_values, b_values;
  for (const auto& [key, value] : a) a_keys.emplace_back(key), a_values.push_back(value);
  for (const auto& [key, value] : b) b_keys.emplace_back(key), b_values.push_back(value);
  const int order = CompareArrays(a_keys, b_keys);
  return order != 0 ? order : CompareArrays(a_values, b_values);
}

JqResult JqCalculate(char op, const json::Value& a, const json::Value& b) {
  const bool whole = a.is_int() && b.is_int();
  std::int64_t result = 0;
  const bool fits = whole && (op == '+'   ? !__builtin_add_overflow(a.as_int(), b.as_int(), &result)
                              : op == '-' ? !__builtin_sub_overflow(a.as_int(), b.as_int(), &result)
                              : op == '*' ? !__builtin_mul_overflow(a.as_int(), b.as_int(), &result)
                                          : false);
  if (fits) return json::Value(static_cast<long long>(result));
  const double x = a.as_double(), y = b.as_double();
  if (op == '+') return JqNumber(x + y);
  if (op == '-') return JqNumber(x - y);
  if (op == '*') return JqNumber(x * y);
  if (y == 0 || (op == '%' && std::trunc(y) == 0))
    return Unexpected(BadRequest("cannot divide " + json::Write(a) + " by: 0"));
  return JqNumber(op == '/' ? x / y : std::fmod(std::trunc(x), std::trunc(y)));
}

JqResult JqPlus(const json::Value& a, const json::Value& b) {
  if (a.is_null()) return b;
  if (b.is_null()) return a;
  if (a.is_string() && b.is_string()) return json::Value(JqText(a) + JqText(b));
  if (a.is_array() && b.is_array()) {
    json::Array both = a.as_array();
    both.insert(both.end(), b.as_array().begin(), b.as_array().end());
    return json::Value(std::move(both));
  }
  if (a.is_object() && b.is_object()) {
    json::Object both = a.as_object();
    for (const auto& [key, value] : b.as_object()) both.Set(key, value);
    return json::Value(std::move(both));
  }
  return Unexpected(
      BadRequest("cannot add: " + std::string(JqTypeOf(a)) + " and " + std::string(JqTypeOf(b))));
}

}  // namespace

std::string_view JqTypeOf(const json::Value& value) {
  static constexpr std::string_view kNames[] = {"null",   "boolean", "boolean", "number",
                                                "string", "array",   "object"};
  return kNames[JqRank(value)];
}

bool JqIsTrue(const json::Value& value) {
  return !value.is_null() && value.bool_or(true);
}

int JqCompare(const json::Value& a, const json::Value& b) {
  if (const int order = JqOrder(JqRank(a), JqRank(b)); order != 0) return order;
  if (a.is_number()) return JqOrder(a.as_double(), b.as_double());
  if (a.is_string()) return JqOrder(a.as_string(), b.as_string());
  if (a.is_array()) return CompareArrays(a.as_array(), b.as_array());
  if (a.is_object()) return CompareObjects(a.as_object(), b.as_object());
  return 0;
}

bool HasJqFunction(std::string_view name, std::size_t arguments) {
  return FindJqFunction(name, arguments) != nullptr;
}

Result<json::Value> CallJqFunction(std::string_view name, const json::Value& input,
                                   const std::vector<json::Value>& args) {
  return FindJqFunction(name, args.size())->call(input, args);
}

Result<json::Value> JqOperate(std::string_view op, const json::Value& a, const json::Value& b) {
  if (op == "==") return json::Value(JqCompare(a, b) == 0);
  if (op == "!=") return json::Value(JqCompare(a, b) != 0);
  if (op == "<") return json::Value(JqCompare(a, b) < 0);
  if (op == "<=") return json::Value(JqCompare(a, b) <= 0);
  if (op == ">") return json::Value(JqCompare(a, b) > 0);
  if (op == ">=") return json::Value(JqCompare(a, b) >= 0);
  if (a.is_number() && b.is_number()) return JqCalculate(op[0], a, b);
  if (op == "+") return JqPlus(a, b);
  if (op == "-" && a.is_array() && b.is_array()) {
    json::Array kept;
    for (const json::Value& item : a.as_array())
      if (std::none_of(b.as_array().begin(), b.as_array().end(),
                       [&](const json::Value& other) { return JqCompare(item, other) == 0; }))
        kept.push_back(item);
    return json::Value(std::move(kept));
  }
  return Unexpected(BadRequest("cannot apply " + std::string(op) + " to: " + std::string(JqTypeOf(a)) +
                               " and " + std::string(JqTypeOf(b))));
}

}  // namespace flyball::api
