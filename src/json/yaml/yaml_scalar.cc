#include "json/yaml/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/values/ascii.h"

namespace flyball::json {
namespace {

template <std::size_t N>
bool IsOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<ResolvedScalar> ResolveWord(std::string_view text) {
  using Words = std::array<std::string_view, 11>;
  constexpr Words kTrue = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
  constexpr Words kFalse = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
  constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 3> kNan = {".nan", ".NaN", ".NAN"}, kInf = {".inf", ".Inf", ".INF"};
  if (IsOneOf(text, kTrue)) return ResolvedScalar{ScalarType::kBool, true};
  if (IsOneOf(text, kFalse)) return ResolvedScalar{ScalarType::kBool, false};
  if (IsOneOf(text, kNull)) return ResolvedScalar{ScalarType::kNull, nullptr};
  if (IsOneOf(text, kNan)) return ResolvedScalar{ScalarType::kFloat, std::nan("")};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (IsOneOf(text.substr(text.starts_with('+')), kInf)) return ResolvedScalar{ScalarType::kFloat, kInfinity};
  if (text.starts_with('-') && IsOneOf(text.substr(1), kInf))
    return ResolvedScalar{ScalarType::kFloat, -kInfinity};
  return std::nullopt;
}

// The base that Go's ParseInt infers; `digits` loses the prefix.
int TakeBase(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = static_cast<char>(digits[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

// `text` without underscores.
std::optional<Value> ResolveInt(std::string_view text) {
  const bool negative = text.starts_with('-'), sign = negative || text.starts_with('+');
  std::string_view digits = text.substr(sign ? 1 : 0);
  const int base = TakeBase(digits);
  std::uint64_t magnitude = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, magnitude, base);
  if (error != std::errc() || stopped != end) return std::nullopt;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (magnitude < kLimit || (negative && magnitude == kLimit))
    return Value(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
  // A number with a sign must fit signed 64 bits; without one, unsigned 64 bits suffice.
  if (sign) return std::nullopt;
  return Value(static_cast<double>(magnitude));
}

std::size_t CountDigits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), flyball::IsDigit) -
                                  text.begin());
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool LooksLikeFloat(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t whole = CountDigits(text);
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (text.starts_with('.')) {
    fraction = CountDigits(text.substr(1));
    text.remove_prefix(1 + fraction);
  }
  if (whole + fraction == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && CountDigits(text) == text.size();
}

std::optional<Value> ResolveFloat(std::string_view text) {
  if (!LooksLikeFloat(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double d = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), d).ec;
  if (error == std::errc()) return Value(d);
  // Out of range. A negative exponent means the number is too small and becomes 0; otherwise it is too large
  // and stays a string.
  const std::size_t e = text.find_first_of("eE");
  const bool tiny =
      e == std::string_view::npos ? text.find_first_of("123456789") > text.find('.') : text[e + 1] == '-';
  if (!tiny) return std::nullopt;
  return Value(0.0);
}

std::string WithoutUnderscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

bool UnderscoresSeparateDigits(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && (i == 0 || i + 1 == text.size() || !IsDigit(text[i - 1]) || !IsDigit(text[i + 1])))
      return false;
  }
  return true;
}

// Reads a number of one or two digits, at most `max`.
bool TakeNumber(std::string_view& text, int min, int max) {
  const std::size_t digits = std::min<std::size_t>(CountDigits(text), 2);
  if (digits == 0) return false;
  int n = 0;
  std::from_chars(text.data(), text.data() + digits, n);
  text.remove_prefix(digits);
  return n >= min && n <= max;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeTimeOfDay(std::string_view& text) {
  if (!TakeNumber(text, 0, 23) || !Take(text, ':') || !TakeNumber(text, 0, 59) || !Take(text, ':') ||
      !TakeNumber(text, 0, 59))
    return false;
  if (!Take(text, '.') && !Take(text, ',')) return true;
  const std::size_t digits = CountDigits(text);
  text.remove_prefix(digits);
  return digits > 0;
}

bool IsZone(std::string_view text) {
  if (text == "Z") return true;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return false;
  std::string_view hours = text.substr(1, 2), minutes = text.substr(4);
  return CountDigits(hours) == 2 && CountDigits(minutes) == 2 && TakeNumber(hours, 0, 24) &&
         TakeNumber(minutes, 0, 60);
}

// 2006-1-2, 2006-1-2T15:4:5.999Z, 2006-1-2 15:4:5
bool IsTimestamp(std::string_view text) {
  if (CountDigits(text) != 4) return false;
  int year = 0;
  std::from_chars(text.data(), text.data() + 4, year);
  text.remove_prefix(4);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const int days[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (!Take(text, '-')) return false;
  int month = 0;
  std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 2), month);
  if (!TakeNumber(text, 1, 12) || !Take(text, '-') || !TakeNumber(text, 1, days[month - 1])) return false;
  if (text.empty()) return true;
  if (Take(text, ' ')) return TakeTimeOfDay(text) && text.empty();
  return (Take(text, 'T') || Take(text, 't')) && TakeTimeOfDay(text) && IsZone(text);
}

}  // namespace

ResolvedScalar ResolveScalar(std::string_view text) {
  if (auto word = ResolveWord(text)) return *std::move(word);
  const ResolvedScalar string{ScalarType::kString, text};
  const char first = text[0];
  if (first == '.') {
    auto d = UnderscoresSeparateDigits(text) ? ResolveFloat(WithoutUnderscores(text)) : std::nullopt;
    return d ? ResolvedScalar{ScalarType::kFloat, *std::move(d)} : string;
  }
  if (!IsDigit(first) && first != '-' && first != '+') return string;
  if (IsTimestamp(text)) return {ScalarType::kTimestamp, text};
  const std::string plain = WithoutUnderscores(text);
  if (auto n = ResolveInt(plain)) return {ScalarType::kInt, *std::move(n)};
  if (auto d = ResolveFloat(plain)) return {ScalarType::kFloat, *std::move(d)};
  return string;
}

// [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?
bool IsBase60(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !IsDigit(text[0])) return false;
  const auto skip = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of("0123456789_"), text.size()));
  };
  skip();
  bool sixties = false;
  while (Take(text, ':')) {
    if (!TakeNumber(text, 0, 59)) return false;
    sixties = true;
  }
  if (Take(text, '.')) skip();
  return sixties && text.empty();
}

}  // namespace flyball::json
