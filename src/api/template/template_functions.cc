#include "api/template/template_functions.h"

#include <array>
#include <cstdio>

#include "api/values/base64.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cel/text/number_text.h"

namespace flyball::api {
namespace {

using TemplateArgs = std::vector<TemplateValue>;
using TemplateResult = Result<TemplateValue>;

// As fmt's %v shows it. Floats keep fmt's exponents: 1.2345678e+07.
std::string Shown(const json::Value& value) {
  if (value.is_double()) return cel::FormatShortDouble(value.as_double());
  if (!value.is_array() && !value.is_object()) return GoPrint(value);
  std::string out = value.is_array() ? "[" : "map[";
  const std::size_t begin = out.size();
  if (value.is_array()) {
    for (const json::Value& item : value.as_array()) out += (out.size() > begin ? " " : "") + Shown(item);
  } else {
    json::Object sorted = value.as_object();
    sorted.SortKeys();
    for (const auto& [key, member] : sorted)
      out += (out.size() > begin ? " " : "") + key + ":" + Shown(member);
  }
  return out + "]";
}

Error TemplateError(std::string message) {
  return BadRequest(std::move(message));
}

TemplateResult LengthOf(const TemplateArgs& args) {
  if (args.size() != 1)
    return Unexpected(
        TemplateError("wrong number of args for len: want 1 got " + std::to_string(args.size())));
  if (!args[0] || args[0]->is_null()) return Unexpected(TemplateError("len of nil pointer"));
  if (args[0]->is_string()) return TemplateValue(static_cast<long long>(args[0]->as_string().size()));
  if (!args[0]->is_array() && !args[0]->is_object())
    return Unexpected(TemplateError("len of type " + std::string(GoTypeOf(*args[0]))));
  return TemplateValue(static_cast<long long>(args[0]->size()));
}

TemplateResult IndexOne(const TemplateValue& from, const TemplateValue& key) {
  if (!from || from->is_null()) return Unexpected(TemplateError("index of untyped nil"));
  if (from->is_object()) {
    if (!key || !key->is_string())
      return Unexpected(TemplateError("value has type " + std::string(key ? GoTypeOf(*key) : "nil") +
                                      "; should be string"));
    const json::Value* member = from->Find(key->as_string());
    return member ? TemplateValue(*member) : TemplateValue();
  }
  if (!from->is_array() && !from->is_string())
    return Unexpected(TemplateError("can't index item of type " + std::string(GoTypeOf(*from))));
  if (!key || !key->is_int())
    return Unexpected(
        TemplateError("cannot index slice/array with type " + std::string(key ? GoTypeOf(*key) : "nil")));
  const std::int64_t at = key->as_int();
  const std::size_t size = from->is_array() ? from->size() : from->as_string().size();
  if (at < 0 || static_cast<std::size_t>(at) >= size)
    return Unexpected(TemplateError("error calling index: reflect: slice index out of range"));
  if (from->is_string())
    return TemplateValue(
        static_cast<int>(static_cast<unsigned char>(from->as_string()[static_cast<std::size_t>(at)])));
  return TemplateValue(from->as_array()[static_cast<std::size_t>(at)]);
}

TemplateResult IndexAll(const TemplateArgs& args) {
  if (args.empty()) return Unexpected(TemplateError("wrong number of args for index: want at least 1 got 0"));
  TemplateValue value = args[0];
  for (std::size_t i = 1; i < args.size(); ++i) {
    FLYBALL_ASSIGN(value, IndexOne(value, args[i]));
  }
  return value;
}

// True if every key leads on: kubectl's own function.
TemplateResult Exists(const TemplateArgs& args) {
  TemplateValue value = args.empty() ? TemplateValue() : args[0];
  for (std::size_t i = 1; i < args.size(); ++i) {
    auto next = IndexOne(value, args[i]);
    if (!next || !*next) return TemplateValue(false);
    value = std::move(*next);
  }
  return TemplateValue(value.has_value());
}

TemplateResult SliceOf(const TemplateArgs& args) {
  if (args.empty() || !args[0] || (!args[0]->is_array() && !args[0]->is_string()))
    return Unexpected(TemplateError("slice of untyped nil"));
  const json::Value& from = *args[0];
  const std::size_t size = from.is_array() ? from.size() : from.as_string().size();
  std::array<std::size_t, 2> bounds{0, size};
  for (std::size_t i = 1; i < args.size() && i < 3; ++i) {
    const std::int64_t at = args[i] ? args[i]->int_or(-1) : -1;
    if (at < 0 || static_cast<std::size_t>(at) > size)
      return Unexpected(TemplateError("index out of range: " + std::to_string(at)));
    bounds[i - 1] = static_cast<std::size_t>(at);
  }
  if (bounds[0] > bounds[1])
    return Unexpected(TemplateError("invalid slice index: " + std::to_string(bounds[0]) + " > " +
                                    std::to_string(bounds[1])));
  if (from.is_string()) return TemplateValue(from.as_string().substr(bounds[0], bounds[1] - bounds[0]));
  const json::Array& items = from.as_array();
  return TemplateValue(json::Array(items.begin() + static_cast<std::ptrdiff_t>(bounds[0]),
                                   items.begin() + static_cast<std::ptrdiff_t>(bounds[1])));
}

// fmt.Sprint puts a space between operands when neither is a string; Sprintln always.
std::string Printed(const TemplateArgs& args, bool line) {
  std::string out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool texts =
        i > 0 && (!args[i] || !args[i]->is_string()) && (!args[i - 1] || !args[i - 1]->is_string());
    if (i > 0 && (line || texts)) out += " ";
    out += args[i] ? Shown(*args[i]) : "<nil>";
  }
  return line ? out + "\n" : out;
}

// One verb of fmt with its flags, as "%-5s" or "%.2f".
std::string Formatted(const std::string& flags, char verb, const TemplateValue& value) {
  const std::string plain = TemplateText(value);
  const auto wrong = [&] {
    return std::string("%!") + verb + "(" + (value ? std::string(GoTypeOf(*value)) + "=" : "") + plain + ")";
  };
  char buffer[512];
  const auto c_format = [&](const std::string& conversion, auto argument) {
    std::snprintf(buffer, sizeof buffer, ("%" + flags + conversion).c_str(), argument);
    return std::string(buffer);
  };
  switch (verb) {
    case 'v':
    case 's':
      if (verb == 's' && value && !value->is_string() && !value->is_array() && !value->is_object())
        return wrong();
      return c_format("s", plain.c_str());
    case 'q':
      return value && value->is_string() ? c_format("s", GoQuote(value->as_string()).c_str()) : wrong();
    case 'd':
    case 'x':
    case 'o':
      if (!value || !value->is_int()) return wrong();
      return c_format(std::string("ll") + verb, static_cast<long long>(value->as_int()));
    case 'f':
    case 'e':
    case 'g':
      if (!value || !value->is_double()) return wrong();
      if (verb == 'g' && flags.empty()) return cel::FormatShortDouble(value->as_double());
      return c_format(std::string(1, verb), value->as_double());
    case 't':
      return value && value->is_bool() ? plain : wrong();
    case 'T':
      return value ? std::string(GoTypeOf(*value)) : "<nil>";
    default:
      return wrong();
  }
}

TemplateResult FormatAll(const TemplateArgs& args) {
  if (args.empty() || !args[0] || !args[0]->is_string())
    return Unexpected(TemplateError("wrong type for value; expected string"));
  constexpr std::size_t kMostFlags = 8;  // longer widths would overflow the line
  const std::string_view format = args[0]->as_string();
  std::string out;
  std::size_t next = 1;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    std::size_t end = i + 1;
    while (end < format.size() &&
           std::string_view("-+# 0123456789.").find(format[end]) != std::string_view::npos)
      ++end;
    if (end == format.size() || end - i - 1 > kMostFlags)
      return Unexpected(TemplateError("bad format " + std::string(format)));
    const std::string flags(format.substr(i + 1, end - i - 1));
    i = end;
    if (format[end] == '%')
      out += "%";
    else if (next >= args.size())
      out += std::string("%!") + format[end] + "(MISSING)";
    else
      out += Formatted(flags, format[end], args[next++]);
  }
  return TemplateValue(out);
}

TemplateResult Escaped(const TemplateArgs& args, bool html) {
  std::string out;
  for (const char c : Printed(args, false)) {
    switch (c) {
      case '&':
        out += html ? "&amp;" : "\\u0026";
        break;
      case '<':
        out += html ? "&lt;" : "\\u003C";
        break;
      case '>':
        out += html ? "&gt;" : "\\u003E";
        break;
      case '"':
        out += html ? "&#34;" : "\\\"";
        break;
      case '\'':
        out += html ? "&#39;" : "\\'";
        break;
      default:
        out.push_back(c);
    }
  }
  return TemplateValue(out);
}

// Go's url.QueryEscape.
std::string QueryEscaped(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsAlphanumeric(c) || std::string_view("-_.~").find(c) != std::string_view::npos)
      out.push_back(c);
    else if (c == ' ')
      out.push_back('+');
    else
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

enum class BasicKind : std::uint8_t { kNone, kBool, kInt, kFloat, kString };
BasicKind BasicKindOf(const TemplateValue& value) {
  if (!value) return BasicKind::kNone;
  if (value->is_bool()) return BasicKind::kBool;
  if (value->is_int()) return BasicKind::kInt;
  if (value->is_double()) return BasicKind::kFloat;
  return value->is_string() ? BasicKind::kString : BasicKind::kNone;
}

Result<bool> Equal(const TemplateValue& a, const TemplateValue& b) {
  const BasicKind kind = BasicKindOf(a);
  if (kind != BasicKind::kNone && BasicKindOf(b) != BasicKind::kNone && kind != BasicKindOf(b))
    return Unexpected(TemplateError("incompatible types for comparison"));
  if ((a && (a->is_array() || a->is_object())) || (b && (b->is_array() || b->is_object())))
    return Unexpected(TemplateError("non-comparable type"));
  return a.value_or(json::Value()) == b.value_or(json::Value());
}

Result<bool> Less(const TemplateValue& a, const TemplateValue& b) {
  const BasicKind kind = BasicKindOf(a);
  if (kind != BasicKindOf(b)) return Unexpected(TemplateError("incompatible types for comparison"));
  if (kind == BasicKind::kNone || kind == BasicKind::kBool)
    return Unexpected(TemplateError("invalid type for comparison"));
  if (kind == BasicKind::kString) return a->as_string() < b->as_string();
  return kind == BasicKind::kInt ? a->as_int() < b->as_int() : a->as_double() < b->as_double();
}

TemplateResult EqualToAny(const TemplateArgs& args) {
  if (args.size() < 2) return Unexpected(TemplateError("missing argument for comparison"));
  for (std::size_t i = 1; i < args.size(); ++i) {
    FLYBALL_ASSIGN(const bool same, Equal(args[0], args[i]));
    if (same) return TemplateValue(true);
  }
  return TemplateValue(false);
}

TemplateResult CompareTwo(std::string_view name, const TemplateArgs& args) {
  if (args.size() != 2)
    return Unexpected(TemplateError("wrong number of args for " + std::string(name) + ": want 2 got " +
                                    std::to_string(args.size())));
  if (name == "ne") {
    FLYBALL_ASSIGN(const bool same, Equal(args[0], args[1]));
    return TemplateValue(!same);
  }
  const bool swapped = name == "gt" || name == "le";
  FLYBALL_ASSIGN(const bool less, swapped ? Less(args[1], args[0]) : Less(args[0], args[1]));
  return TemplateValue(name == "lt" || name == "gt" ? less : !less);
}

TemplateResult Decode(const TemplateArgs& args) {
  if (args.size() != 1 || !args[0] || !args[0]->is_string())
    return Unexpected(TemplateError("base64 decode: expected a string"));
  std::string bytes;
  std::size_t bad = 0;
  if (!DecodeBase64(args[0]->as_string(), bytes, bad))
    return Unexpected(
        TemplateError("base64 decode: illegal base64 data at input byte " + std::to_string(bad)));
  return TemplateValue(bytes);
}

TemplateResult AndOr(bool is_and, const TemplateArgs& args) {
  if (args.empty()) return Unexpected(TemplateError("wrong number of args: want at least 1 got 0"));
  for (const TemplateValue& arg : args)
    if (IsTrue(arg) != is_and) return arg;
  return args.back();
}

TemplateResult Not(const TemplateArgs& args) {
  if (args.size() != 1)
    return Unexpected(
        TemplateError("wrong number of args for not: want 1 got " + std::to_string(args.size())));
  return TemplateValue(!IsTrue(args[0]));
}

struct FunctionRow {
  std::string_view name;
  TemplateResult (*call)(const TemplateArgs& args);
};
constexpr FunctionRow kFunctions[] = {
    {"and", [](const TemplateArgs& a) { return AndOr(true, a); }},
    {"base64decode", &Decode},
    {"eq", &EqualToAny},
    {"exists", &Exists},
    {"ge", [](const TemplateArgs& a) { return CompareTwo("ge", a); }},
    {"gt", [](const TemplateArgs& a) { return CompareTwo("gt", a); }},
    {"html", [](const TemplateArgs& a) { return Escaped(a, true); }},
    {"index", &IndexAll},
    {"js", [](const TemplateArgs& a) { return Escaped(a, false); }},
    {"le", [](const TemplateArgs& a) { return CompareTwo("le", a); }},
    {"len", &LengthOf},
    {"lt", [](const TemplateArgs& a) { return CompareTwo("lt", a); }},
    {"ne", [](const TemplateArgs& a) { return CompareTwo("ne", a); }},
    {"not", &Not},
    {"or", [](const TemplateArgs& a) { return AndOr(false, a); }},
    {"print", [](const TemplateArgs& a) { return TemplateResult(TemplateValue(Printed(a, false))); }},
    {"printf", &FormatAll},
    {"println", [](const TemplateArgs& a) { return TemplateResult(TemplateValue(Printed(a, true))); }},
    {"slice", &SliceOf},
    {"urlquery",
     [](const TemplateArgs& a) { return TemplateResult(TemplateValue(QueryEscaped(Printed(a, false)))); }},
};

const FunctionRow* FindTemplateFunction(std::string_view name) {
  for (const FunctionRow& row : kFunctions)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

bool IsTrue(const TemplateValue& value) {
  if (!value) return false;
  switch (value->kind()) {
    case json::Value::Kind::kNull:
      return false;
    case json::Value::Kind::kBool:
      return value->as_bool();
    case json::Value::Kind::kInt:
      return value->as_int() != 0;
    case json::Value::Kind::kDouble:
      return value->as_double() != 0;
    case json::Value::Kind::kString:
      return !value->as_string().empty();
    default:
      return !value->empty();
  }
}

std::string TemplateText(const TemplateValue& value) {
  return value && !value->is_null() ? Shown(*value) : "<no value>";
}

bool HasTemplateFunction(std::string_view name) {
  return FindTemplateFunction(name) != nullptr;
}

Result<TemplateValue> CallTemplateFunction(std::string_view name, const std::vector<TemplateValue>& args) {
  return FindTemplateFunction(name)->call(args);
}

}  // namespace flyball::api
