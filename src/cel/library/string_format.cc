#include "cel/library/string_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

// Nesting of lists and maps in %s.
constexpr int kMaxFormatDepth = 200;

class Formatter {
 public:
  explicit Formatter(Arena& arena) : arena_(arena) {}

  // False and a message if the value does not fit the clause.
  bool Write(const FormatClause& clause, const Value& value, std::string* out, std::string* problem) {
    problem_ = problem;
    switch (clause.verb) {
      case 's':
        return Text(value, out, 0);
      case 'd':
        return Decimal(value, out);
      case 'f':
        return Fixed(value, clause.precision.value_or(6), out);
      case 'e':
        return Scientific(value, clause.precision.value_or(6), out);
      case 'b':
        return InBase(value, 2, 'b', false, out);
      case 'o':
        return InBase(value, 8, 'o', false, out);
      case 'x':
      case 'X':
        return Hexadecimal(value, clause.verb, out);
      default:
        return false;
    }
  }

 private:
  bool Wrong(char verb, const Value& value) {
    *problem_ = FormatTypeProblem(verb, TypeNameOf(value));
    return false;
  }
  bool Text(const Value& value, std::string* out, int depth) {
    switch (value.kind()) {
      case ValueKind::kNull:
        *out += "null";
        return true;
      case ValueKind::kList:
        return List(value, out, depth);
      case ValueKind::kMap:
        return Map(value, out, depth);
      case ValueKind::kOptional:
      case ValueKind::kOpaque:
      case ValueKind::kPreserved:
      case ValueKind::kError:
        return Wrong('s', value);
      default:
        *out += DisplayText(arena_, value);
        return true;
    }
  }
  // A value within a list or map: texts are quoted, numbers have their default clause.
  bool Nested(const Value& value, std::string* out, int depth) {
    switch (value.kind()) {
      case ValueKind::kString:
        *out += QuoteGo(value.text());
        return true;
      case ValueKind::kBytes:
        *out += "b" + QuoteGo(value.text());
        return true;
      case ValueKind::kDouble: {
        const std::string text = FormatFixedDouble(value.as_double(), 6);
        *out += std::isfinite(value.as_double()) ? text : QuoteGo(text);
        return true;
      }
      case ValueKind::kTimestamp:
        *out += "timestamp(" + QuoteGo(DisplayText(arena_, value)) + ")";
        return true;
      case ValueKind::kDuration:
        *out += "duration(" + QuoteGo(DisplayText(arena_, value)) + ")";
        return true;
      case ValueKind::kOptional:
      case ValueKind::kOpaque:
      case ValueKind::kPreserved:
      case ValueKind::kError:
        *problem_ = "no formatting function for " + std::string(TypeNameOf(value));
        return false;
      default:
        return Text(value, out, depth);
    }
  }
  bool List(const Value& list, std::string* out, int depth) {
    if (depth > kMaxFormatDepth) return Wrong('s', list);
    *out += '[';
    for (std::size_t i = 0, n = ListSize(list); i < n; ++i) {
      if (i) *out += ", ";
      if (!Nested(ListElement(arena_, list, i), out, depth + 1)) return false;
    }
    *out += ']';
    return true;
  }
  bool Map(const Value& map, std::string* out, int depth) {
    if (depth > kMaxFormatDepth) return Wrong('s', map);
    std::vector<std::pair<std::string, std::string>> entries;
    bool fine = true;
    ForEachEntry(arena_, map, true, [&](const Value& key, const Value& value) {
      auto& [key_text, value_text] = entries.emplace_back();
      if (!key.Is(ValueKind::kString) && !key.Is(ValueKind::kBool) && !key.Is(ValueKind::kInt) &&
          !key.Is(ValueKind::kUint)) {
        *problem_ = "no formatting function for map key of type " + std::string(TypeNameOf(key));
        fine = false;
      }
      fine = fine && Nested(key, &key_text, depth) && Nested(value, &value_text, depth + 1);
      return fine;
    });
    if (!fine) return false;
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    *out += '{';
    for (std::size_t i = 0; i < entries.size(); ++i)
      *out += (i ? ", " : "") + entries[i].first + ":" + entries[i].second;
    *out += '}';
    return true;
  }
  bool Decimal(const Value& value, std::string* out) {
    if (!value.Is(ValueKind::kInt) && !value.Is(ValueKind::kUint)) return Wrong('d', value);
    *out += DisplayText(arena_, value);
    return true;
  }
  bool InBase(const Value& value, int base, char verb, bool upper, std::string* out) {
    if (verb == 'b' && value.Is(ValueKind::kBool)) {
      *out += value.as_bool() ? '1' : '0';
      return true;
    }
    char buffer[72];
    std::to_chars_result result{};
    if (value.Is(ValueKind::kInt))
      result = std::to_chars(buffer, buffer + sizeof buffer, value.as_int(), base);
    else if (value.Is(ValueKind::kUint))
      result = std::to_chars(buffer, buffer + sizeof buffer, value.as_uint(), base);
    else
      return Wrong(verb, value);
    for (const char* c = buffer; c != result.ptr; ++c)
      *out += upper && *c >= 'a' ? static_cast<char>(*c - 32) : *c;
    return true;
  }
  bool Hexadecimal(const Value& value, char verb, std::string* out) {
    const bool upper = verb == 'X';
    if (!value.Is(ValueKind::kString) && !value.Is(ValueKind::kBytes))
      return InBase(value, 16, 'x', upper, out);
    const std::string_view digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (char c : value.text()) {
      *out += digits[static_cast<unsigned char>(c) >> 4];
      *out += digits[static_cast<unsigned char>(c) & 15];
    }
    return true;
  }
  // Texts of what is no finite number may stand for it.
  static std::optional<double> Number(const Value& value) {
    if (value.Is(ValueKind::kDouble)) return value.as_double();
    if (value.Is(ValueKind::kString) &&
        (value.text() == "NaN" || value.text() == "Infinity" || value.text() == "-Infinity"))
      return ParseGoDouble(value.text());
    return std::nullopt;
  }
  bool Fixed(const Value& value, int precision, std::string* out) {
    const auto number = Number(value);
    if (!number) return Wrong('f', value);
    if (std::isnan(*number)) {
      *out += "NaN";
    } else if (std::isinf(*number)) {
      *out += *number < 0 ? "-\xe2\x88\x9e" : "\xe2\x88\x9e";
    } else {
      // As the en-US locale writes it: thousands grouped. Upstream's printer holds the precision in a byte.
      const std::string text = FormatFixedDouble(*number, precision & 0xff);
      const std::size_t start = text[0] == '-' ? 1 : 0;
      const std::size_t point = std::min(text.find('.'), text.size());
      for (std::size_t i = 0; i < text.size(); ++i) {
        if (i > start && i < point && (point - i) % 3 == 0) *out += ',';
        *out += text[i];
      }
    }
    return true;
  }
  // Upstream passes the precision as the width of the field: it pads, and six digits always follow the point.
  bool Scientific(const Value& value, int width, std::string* out) {
    const auto number = Number(value);
    if (!number) return Wrong('e', value);
    std::string text;
    std::size_t characters = 0;
    if (std::isnan(*number)) {
      text = "NaN";
      characters = 3;
    } else if (std::isinf(*number)) {
      text = *number < 0 ? "-\xe2\x88\x9e" : "\xe2\x88\x9e";
      characters = *number < 0 ? 2 : 1;
    } else {
      char buffer[40];
      const auto result =
          std::to_chars(buffer, buffer + sizeof buffer, *number, std::chars_format::scientific, 6);
      const std::string_view plain(buffer, static_cast<std::size_t>(result.ptr - buffer));
      const std::size_t e = plain.find('e');
      text = std::string(plain.substr(0, e)) +
             "\xc3\x97"
             "10";
      characters = e + 3;
      static constexpr std::string_view kSuperscript[] = {
          "\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
          "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9"};
      for (char c : plain.substr(e + 1)) {
        if (c == '+') continue;
        text += c == '-' ? "\xe2\x81\xbb" : kSuperscript[c - '0'];
        ++characters;
      }
    }
    if (static_cast<std::size_t>(width) > characters)
      out->append(static_cast<std::size_t>(width) - characters, ' ');
    *out += text;
    return true;
  }

  Arena& arena_;
  std::string* problem_ = nullptr;
};

}  // namespace

bool ParseFormatClause(std::string_view text, FormatClause* clause, std::string* problem) {
  const auto fail = [&](std::string message) {
    *problem = "could not parse formatting clause: " + std::move(message);
    return false;
  };
  std::size_t i = 1;
  if (i < text.size() && text[i] == '.') {
    const std::size_t start = ++i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    if (i == text.size())
      return fail("error while parsing precision: could not find end of precision specifier");
    const std::string_view digits = text.substr(start, i - start);
    const auto precision = ParseGoInt(digits);
    if (!precision)
      return fail(
          "error while parsing precision: error while converting precision to integer: strconv.Atoi: "
          "parsing " +
          QuoteGo(digits) + (digits.empty() ? ": invalid syntax" : ": value out of range"));
    if (*precision > kMaxFormatPrecision)
      return fail("error while parsing precision: precision " + std::to_string(*precision) +
                  " exceeds maximum allowed precision " + std::to_string(kMaxFormatPrecision));
    clause->precision = static_cast<int>(*precision);
  }
  if (i >= text.size()) {
    *problem = "unexpected end of string";
    return false;
  }
  clause->verb = text[i];
  clause->length = i + 1;
  if (std::string_view("sdfebxXo").find(clause->verb) == std::string_view::npos)
    return fail("unrecognized formatting clause \"" + std::string(1, clause->verb) + "\"");
  return true;
}

std::string FormatTypeProblem(char verb, std::string_view type_name) {
  std::string_view rule;
  switch (verb) {
    case 'b':
      rule = "only integers and bools can be formatted as binary, was given ";
      break;
    case 'd':
      rule = "decimal clause can only be used on integers, was given ";
      break;
    case 'f':
      rule = "fixed-point clause can only be used on doubles, was given ";
      break;
    case 'x':
    case 'X':
      rule = "only integers, byte buffers, and strings can be formatted as hex, was given ";
      break;
    case 'o':
      rule = "octal clause can only be used on integers, was given ";
      break;
    case 'e':
      rule = "scientific clause can only be used on doubles, was given ";
      break;
    default:
      rule =
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
          "durations, and "
          "timestamps, was given ";
  }
  return "error during formatting: " + std::string(rule) + std::string(type_name);
}

Value FormatText(Arena& arena, std::string_view format, const Value& args) {
  std::string out, problem;
  Formatter formatter(arena);
  std::size_t used = 0;
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    if (format.substr(i, 2) == "%%") {
      out += '%';
      i += 2;
      continue;
    }
    if (used >= ListSize(args)) return Value::Error(arena, "index " + std::to_string(used) + " out of range");
    FormatClause clause;
    if (!ParseFormatClause(format.substr(i), &clause, &problem)) return Value::Error(arena, problem);
    if (!formatter.Write(clause, ListElement(arena, args, used), &out, &problem))
      return Value::Error(
          arena, problem.starts_with("error during") ? problem : "error during formatting: " + problem);
    if (out.size() > Arena::kMaxBytes) throw EvaluationCancelled();
    i += clause.length;
    ++used;
  }
  return Value::String(arena.Copy(out));
}

}  // namespace flyball::cel
