#include "api/values/duration.h"

#include <cstdint>

#include "api/values/go_text.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

constexpr std::uint64_t kMax = std::uint64_t{1} << 63;  // one more than the largest positive duration

struct Unit {
  std::string_view name;
  std::uint64_t nanos;
};
constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1000},         {"\xC2\xB5s", 1000},   {"\xCE\xBCs", 1000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

Unexpected MalformedDuration(std::string_view text) {
  return Unexpected(BadRequest("time: invalid duration " + GoQuote(text)));
}

// "12.5": the whole part exactly, the fraction as digits over a power of ten.
struct DecimalNumber {
  std::uint64_t whole = 0, fraction = 0;
  double scale = 1;
  bool overflow = false, empty = true;
};

DecimalNumber TakeNumber(std::string_view& rest) {
  DecimalNumber n;
  for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
    n.empty = false;
    n.overflow = n.overflow || n.whole > kMax / 10;
    if (!n.overflow) n.whole = n.whole * 10 + static_cast<std::uint64_t>(rest[0] - '0');
    n.overflow = n.overflow || n.whole > kMax;
  }
  if (rest.empty() || rest[0] != '.') return n;
  rest.remove_prefix(1);
  bool full = false;
  for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
    n.empty = false;
    full = full || n.fraction > (kMax - 1) / 10;
    if (full) continue;
    n.fraction = n.fraction * 10 + static_cast<std::uint64_t>(rest[0] - '0');
    n.scale *= 10;
  }
  return n;
}

std::string_view TakeUnitName(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && rest[n] != '.' && !IsDigit(rest[n])) ++n;
  const std::string_view name = rest.substr(0, n);
  rest.remove_prefix(n);
  return name;
}

// number * unit, or false if it does not fit.
bool AddTerm(const DecimalNumber& number, const Unit& unit, std::uint64_t& total) {
  if (number.whole > kMax / unit.nanos) return false;
  std::uint64_t nanos = number.whole * unit.nanos;
  if (number.fraction > 0) {
    nanos += static_cast<std::uint64_t>(static_cast<double>(number.fraction) *
                                        (static_cast<double>(unit.nanos) / number.scale));
  }
  if (nanos > kMax) return false;
  total += nanos;
  return total <= kMax;
}

// nanos as a decimal fraction of 10^digits, without trailing zeros.
void AppendFraction(std::uint64_t nanos, int digits, std::string& out) {
  std::string fraction(static_cast<std::size_t>(digits), '0');
  for (int i = digits - 1; i >= 0; --i, nanos /= 10) {
    fraction[static_cast<std::size_t>(i)] = static_cast<char>('0' + nanos % 10);
  }
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (!fraction.empty()) out += "." + fraction;
}

std::string SmallText(std::uint64_t nanos) {
  std::string out;
  if (nanos < 1000) return std::to_string(nanos) + "ns";
  if (nanos < 1'000'000) {
    out = std::to_string(nanos / 1000);
    AppendFraction(nanos % 1000, 3, out);
    return out + "\xC2\xB5s";
  }
  out = std::to_string(nanos / 1'000'000);
  AppendFraction(nanos % 1'000'000, 6, out);
  return out + "ms";
}

}  // namespace

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration(0);
  if (rest.empty()) return MalformedDuration(text);
  std::uint64_t total = 0;
  while (!rest.empty()) {
    if (rest[0] != '.' && !IsDigit(rest[0])) return MalformedDuration(text);
    const DecimalNumber number = TakeNumber(rest);
    if (number.empty || number.overflow) return MalformedDuration(text);
    const std::string_view name = TakeUnitName(rest);
    if (name.empty()) return Unexpected(BadRequest("time: missing unit in duration " + GoQuote(text)));
    const Unit* unit = FindUnit(name);
    if (unit == nullptr) {
      return Unexpected(BadRequest("time: unknown unit " + GoQuote(name) + " in duration " + GoQuote(text)));
    }
    if (!AddTerm(number, *unit, total)) return MalformedDuration(text);
  }
  if (total > kMax - (negative ? 0 : 1)) return MalformedDuration(text);
  return Duration(static_cast<std::int64_t>(negative ? 0 - total : total));
}

std::string FormatDuration(Duration duration) {
  const std::int64_t signed_nanos = duration.count();
  if (signed_nanos == 0) return "0s";
  const bool negative = signed_nanos < 0;
  const std::uint64_t nanos =
      negative ? 0 - static_cast<std::uint64_t>(signed_nanos) : static_cast<std::uint64_t>(signed_nanos);
  std::string out = negative ? "-" : "";
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (nanos < kSecond) return out + SmallText(nanos);
  const std::uint64_t seconds = nanos / kSecond;
  if (seconds >= 3600) out += std::to_string(seconds / 3600) + "h";
  if (seconds >= 60) out += std::to_string(seconds / 60 % 60) + "m";
  out += std::to_string(seconds % 60);
  AppendFraction(nanos % kSecond, 9, out);
  return out + "s";
}

}  // namespace flyball::api
