#include "json/number.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace flyball::json {
namespace {

// d.ddd x 10^exponent
struct Decimal {
  std::string digits;
  int exponent = 0;
};

// Of a finite number above zero.
template <typename Float>
Decimal ShortestDecimal(Float f) {
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, f, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  Decimal decimal;
  decimal.digits = text[0];
  if (e > 2) decimal.digits += text.substr(2, e - 2);
  std::from_chars(buffer + e + (text[e + 1] == '+' ? 2 : 1), end, decimal.exponent);
  return decimal;
}

void AppendPlain(const Decimal& decimal, std::string& out) {
  const auto& [digits, exponent] = decimal;
  const int count = static_cast<int>(digits.size());
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits;
  } else if (count <= exponent + 1) {
    out += digits;
    out.append(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    out.append(digits, 0, static_cast<std::size_t>(exponent) + 1);
    out += '.';
    out.append(digits, static_cast<std::size_t>(exponent) + 1);
  }
}

void AppendScientific(const Decimal& decimal, bool two_exponent_digits, std::string& out) {
  out += decimal.digits[0];
  if (decimal.digits.size() > 1) {
    out += '.';
    out.append(decimal.digits, 1);
  }
  out += decimal.exponent < 0 ? "e-" : "e+";
  const int magnitude = std::abs(decimal.exponent);
  if (two_exponent_digits && magnitude < 10) out += '0';
  AppendInt(magnitude, out);
}

}  // namespace

void AppendInt(std::int64_t n, std::string& out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, n).ptr;
  out.append(buffer, end);
}

void AppendDouble(double d, std::string& out) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  if (std::signbit(d)) out += '-';
  const double magnitude = std::abs(d);
  if (magnitude == 0) {
    out += '0';
    return;
  }
  const Decimal decimal = ShortestDecimal(magnitude);
  if (magnitude < 1e-6 || magnitude >= 1e21)
    AppendScientific(decimal, false, out);
  else
    AppendPlain(decimal, out);
}

std::string FormatGeneral(double d, bool single) {
  std::string out;
  if (std::signbit(d)) out += '-';
  const double magnitude = std::abs(d);
  if (magnitude == 0) return out += '0';
  const auto rounded = static_cast<float>(magnitude);
  const bool use_single = single && rounded > 0 && std::isfinite(rounded);
  const Decimal decimal = use_single ? ShortestDecimal(rounded) : ShortestDecimal(magnitude);
  if (decimal.exponent < -4 || decimal.exponent >= 6)
    AppendScientific(decimal, true, out);
  else
    AppendPlain(decimal, out);
  return out;
}

}  // namespace flyball::json
