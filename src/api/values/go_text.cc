#include "api/values/go_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "json/json.h"

namespace flyball::api {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

// One decoded code point and how many bytes it took; length 0 for malformed UTF-8.
struct Rune {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

Rune DecodeRune(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto tail = [&](std::size_t i) { return i < s.size() && (byte(i) & 0xC0) == 0x80; };
  if (byte(0) < 0x80) return {byte(0), 1};
  if ((byte(0) & 0xE0) == 0xC0 && tail(1)) return {(byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  if ((byte(0) & 0xF0) == 0xE0 && tail(1) && tail(2)) {
    return {(byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
  }
  if ((byte(0) & 0xF8) == 0xF0 && tail(1) && tail(2) && tail(3)) {
    return {(byte(0) & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu),
            4};
  }
  return {};
}

// Close to unicode.IsPrint: the ranges that are controls, separators, formats or unassigned for certain.
bool IsPrintable(std::uint32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7F;
  if (c <= 0xA0 || c == 0xAD) return false;
  if (c >= 0x2000 && c <= 0x200F) return false;
  if (c >= 0x2028 && c <= 0x202F) return false;
  if (c >= 0x205F && c <= 0x206F) return false;
  if (c == 0x3000 || c == 0xFEFF || (c >= 0xD800 && c <= 0xF8FF) || (c >= 0xFFF0 && c <= 0xFFFB))
    return false;
  return (c & 0xFFFE) != 0xFFFE && c < 0xE0000;
}

void AppendHex(std::uint32_t code, int digits, std::string& out) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xF];
}

// True if the character has a one-letter escape, which is then appended.
bool AppendShortEscape(std::uint32_t code, std::string& out) {
  switch (code) {
    case '"':
      out += "\\\"";
      return true;
    case '\\':
      out += "\\\\";
      return true;
    case '\a':
      out += "\\a";
      return true;
    case '\b':
      out += "\\b";
      return true;
    case '\f':
      out += "\\f";
      return true;
    case '\n':
      out += "\\n";
      return true;
    case '\r':
      out += "\\r";
      return true;
    case '\t':
      out += "\\t";
      return true;
    case '\v':
      out += "\\v";
      return true;
    default:
      return false;
  }
}

void AppendRune(std::string_view bytes, const Rune& rune, std::string& out) {
  if (AppendShortEscape(rune.code, out)) return;
  if (IsPrintable(rune.code)) {
    out += bytes;
  } else if (rune.code < 0x80) {
    out += "\\x";
    AppendHex(rune.code, 2, out);
  } else if (rune.code < 0x10000) {
    out += "\\u";
    AppendHex(rune.code, 4, out);
  } else {
    out += "\\U";
    AppendHex(rune.code, 8, out);
  }
}

std::string DoubleText(double d) {
  std::array<char, 32> buffer;
  const auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d);
  return ec == std::errc{} ? std::string(buffer.data(), end) : std::string();
}

std::string HtmlEscaped(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      out += "\\u00";
      AppendHex(static_cast<unsigned char>(c), 2, out);
    } else {
      out += c;
    }
  }
  return out;
}

void AppendPrinted(const json::Value& value, std::string& out) {
  if (value.is_object()) {
    std::vector<const json::Object::Member*> members;
    for (const auto& member : value.as_object()) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
    out += "map[";
    for (const auto* member : members) {
      if (member != members.front()) out += ' ';
      out.append(member->first).append(":");
      AppendPrinted(member->second, out);
    }
    out += ']';
  } else if (value.is_array()) {
    out += '[';
    for (const json::Value& item : value.as_array()) {
      if (&item != &value.as_array().front()) out += ' ';
      AppendPrinted(item, out);
    }
    out += ']';
  } else if (value.is_null()) {
    out += "<nil>";
  } else {
    out += value.is_string() ? std::string(value.as_string()) : json::Write(value);
  }
}

}  // namespace

std::string GoSyntax(const json::Value& value) {
  if (value.is_null()) return "interface {}(nil)";
  if (value.is_string()) return GoQuote(value.as_string());
  std::string items;
  const auto add = [&](const std::string& item) { items += (items.empty() ? "" : ", ") + item; };
  if (value.is_array()) {
    for (const json::Value& item : value.as_array()) add(GoSyntax(item));
    return "[]interface {}{" + items + "}";
  }
  if (!value.is_object()) return GoPrint(value);
  json::Object sorted = value.as_object();
  sorted.SortKeys();
  for (const auto& [key, member] : sorted) add(GoQuote(key) + ":" + GoSyntax(member));
  return "map[string]interface {}{" + items + "}";
}

std::string GoPrint(const json::Value& value) {
  std::string out;
  AppendPrinted(value, out);
  return out;
}

std::string GoQuote(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    const Rune rune = DecodeRune(s);
    if (rune.length == 0) {
      out += "\\x";
      AppendHex(static_cast<unsigned char>(s[0]), 2, out);
      s.remove_prefix(1);
      continue;
    }
    AppendRune(s.substr(0, rune.length), rune, out);
    s.remove_prefix(rune.length);
  }
  return out += '"';
}

std::string GoValueText(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kString:
      return GoQuote(value.as_string());
    case json::Value::Kind::kDouble:
      return DoubleText(value.as_double());
    default:
      return HtmlEscaped(json::Write(value));
  }
}

std::string_view GoTypeOf(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kBool:
      return "bool";
    case json::Value::Kind::kInt:
      return "int64";
    case json::Value::Kind::kDouble:
      return "float64";
    case json::Value::Kind::kString:
      return "string";
    case json::Value::Kind::kArray:
      return "[]interface {}";
    case json::Value::Kind::kObject:
      return "map[string]interface {}";
    case json::Value::Kind::kNull:
      break;
  }
  return "<nil>";
}

std::string GoList(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) {
    if (out.size() > 1) out += ' ';
    out += item;
  }
  return out += ']';
}

}  // namespace flyball::api
