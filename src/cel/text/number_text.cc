#include "cel/text/number_text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "cel/text/utf8.h"
#include "json/number.h"

namespace flyball::cel {
namespace {

std::optional<std::string> SpecialDouble(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  return std::nullopt;
}

bool EqualsFolded(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] + 32) : a[i]) != lower[i]) return false;
  return true;
}

// Go allows an underscore between digits. False if one stands elsewhere.
bool RemoveUnderscores(std::string& s) {
  const auto digit = [&](std::size_t i) { return i < s.size() && s[i] >= '0' && s[i] <= '9'; };
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s[i] == '_' && (i == 0 || !digit(i - 1) || !digit(i + 1))) return false;
  std::erase(s, '_');
  return true;
}

bool IsPlainNumber(std::string_view s) {
  std::size_t i = 0, digits = 0;
  while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i, ++digits;
  if (i < s.size() && s[i] == '.') {
    ++i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i, ++digits;
  }
  if (!digits) return false;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    const std::size_t start = i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i;
    if (i == start) return false;
  }
  return i == s.size();
}

}  // namespace

std::string FormatShortDouble(double d) {
  if (auto special = SpecialDouble(d)) return *special;
  return json::FormatGeneral(d, false);
}

std::string FormatPlainDouble(double d) {
  if (auto special = SpecialDouble(d)) return *special;
  char buffer[400];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed);
  return {buffer, result.ptr};
}

std::string FormatFixedDouble(double d, int precision) {
  if (auto special = SpecialDouble(d)) return *special;
  std::vector<char> buffer(static_cast<std::size_t>(precision) + 400);
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::fixed, precision);
  return {buffer.data(), result.ptr};
}

std::optional<double> ParseGoDouble(std::string_view text) {
  std::string_view s = text;
  bool negative = false;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) {
    negative = s[0] == '-';
    s.remove_prefix(1);
  }
  const double sign = negative ? -1 : 1;
  if (EqualsFolded(s, "inf") || EqualsFolded(s, "infinity"))
    return sign * std::numeric_limits<double>::infinity();
  if (EqualsFolded(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  std::string without;
  if (s.find('_') != std::string_view::npos) {
    without = s;
    if (!RemoveUnderscores(without)) return std::nullopt;
    s = without;
  }
  double value = 0;
  const bool hexadecimal = s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  if (hexadecimal) {
    if (s.find_first_of("pP") == std::string_view::npos || s.find('_') != std::string_view::npos)
      return std::nullopt;
    s.remove_prefix(2);
  } else if (!IsPlainNumber(s)) {
    return std::nullopt;
  }
  const auto result = std::from_chars(s.data(), s.data() + s.size(), value,
                                      hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (result.ptr != s.data() + s.size()) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) {
    // Too small is zero, too large an error; from_chars says the same of both.
    const std::size_t exponent = s.find_first_of("eEpP");
    const bool small = exponent != std::string_view::npos && s.substr(exponent + 1).starts_with('-');
    if (!small && !(s.starts_with("0.") || s.starts_with("."))) return std::nullopt;
    value = 0;
  } else if (result.ec != std::errc()) {
    return std::nullopt;
  }
  return sign * value;
}

std::optional<std::int64_t> ParseGoInt(std::string_view text, int base) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t n = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.empty())
    return std::nullopt;
  return n;
}

std::optional<std::uint64_t> ParseGoUint(std::string_view text, int base) {
  std::uint64_t n = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.empty())
    return std::nullopt;
  return n;
}

std::optional<bool> ParseGoBool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return std::nullopt;
}

std::string QuoteGo(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const Rune rune = DecodeRune(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    if (!rune.valid) {
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (rune.code >= 0x80 || (c >= 0x20 && c != 0x7f)) {
      out += text.substr(i, rune.length);
    } else {
      switch (c) {
        case '\a':
          out += "\\a";
          break;
        case '\b':
          out += "\\b";
          break;
        case '\f':
          out += "\\f";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        case '\v':
          out += "\\v";
          break;
        default:
          out += "\\x";
          out += kHex[c >> 4];
          out += kHex[c & 15];
      }
    }
    i += rune.length;
  }
  return out += '"';
}

}  // namespace flyball::cel
