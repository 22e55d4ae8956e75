#include "cel/text/time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "base/files/time_zone.h"
#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// Howard Hinnant's algorithms for the civil calendar.
std::int64_t DaysFromCivil(std::int64_t y, int m, int d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const auto yoe = y - era * 400;
  const auto doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const auto doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

bool IsLeapYear(std::int64_t y) {
  return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

int DaysInMonth(std::int64_t y, int m) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return m == 2 && IsLeapYear(y) ? 29 : kDays[static_cast<std::size_t>(m - 1)];
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string QuoteGoTime(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// One parse of a text by a layout, as Go's time.Parse does it.
class TimeParser {
 public:
  TimeParser(std::string_view layout, std::string_view text)
      : layout_(layout), value_(layout), text_(text), rest_(text) {}

  std::optional<Instant> Parse(std::string* problem) {
    while (problem_.empty() && !layout_.empty()) Step();
    if (problem_.empty() && !rest_.empty()) problem_ = ": extra text: " + QuoteGoTime(rest_);
    if (problem_.empty() && !range_.empty()) problem_ = ": " + range_ + " out of range";
    if (problem_.empty() && (day_ < 1 || day_ > DaysInMonth(year_, month_))) problem_ = ": day out of range";
    if (!problem_.empty()) {
      if (problem) *problem = "parsing time " + QuoteGoTime(text_) + problem_;
      return std::nullopt;
    }
    const std::int64_t days = DaysFromCivil(year_, month_, day_);
    return Instant{days * kSecondsPerDay + hour_ * 3600 + minute_ * 60 + second_ - offset_, nanos_, offset_};
  }

 private:
  bool Layout(std::string_view chunk) {
    if (!layout_.starts_with(chunk)) return false;
    layout_.remove_prefix(chunk.size());
    chunk_ = chunk;
    return true;
  }
  void Fail() { Fail(rest_); }
  void Fail(std::string_view held) {
    problem_ =
        " as " + QuoteGoTime(value_) + ": cannot parse " + QuoteGoTime(held) + " as " + QuoteGoTime(chunk_);
  }
  void Range(std::string_view what) {
    if (range_.empty()) range_ = what;
  }
  // `digits` digits; one is enough if `loose`.
  int Number(int digits, bool loose = false) {
    const std::string_view held = rest_;
    int n = 0, count = 0;
    while (count < digits && !rest_.empty() && IsDigit(rest_[0])) {
      n = n * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
      ++count;
    }
    if (count < digits && !(loose && count > 0)) Fail(held);
    return n;
  }
  void Fraction(std::size_t digits) {
    const std::string_view held = rest_;
    if (rest_.size() < digits + 1 || (rest_[0] != '.' && rest_[0] != ',')) return Fail(held);
    rest_.remove_prefix(1);
    TakeNanos(digits);
  }
  void TakeNanos(std::size_t digits) {
    std::uint32_t nanos = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      nanos *= 10;
      if (i < digits) {
        if (!IsDigit(rest_[i])) return Fail(rest_);
        nanos += static_cast<std::uint32_t>(rest_[i] - '0');
      }
    }
    rest_.remove_prefix(digits);
    nanos_ = nanos;
  }
  void Seconds() {
    second_ = Number(2);
    if (second_ > 59) Range("second");
    // Fractions are taken even if the layout has none, unless it asks for its own.
    if (layout_.starts_with(".000") || rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') ||
        !IsDigit(rest_[1]))
      return;
    std::size_t digits = 1;
    while (digits < rest_.size() - 1 && IsDigit(rest_[digits + 1])) ++digits;
    rest_.remove_prefix(1);
    TakeNanos(std::min<std::size_t>(digits, 9));
    if (digits > 9) rest_.remove_prefix(digits - 9);
  }
  void Zone() {
    if (rest_.starts_with("Z")) {
      rest_.remove_prefix(1);
      return;
    }
    const std::string_view held = rest_;
    if (rest_.size() < 6 || rest_[3] != ':' || (rest_[0] != '+' && rest_[0] != '-')) return Fail(held);
    const bool negative = rest_[0] == '-';
    rest_.remove_prefix(1);
    const int hours = Number(2);
    if (!problem_.empty()) return Fail(held);
    rest_.remove_prefix(1);
    const int minutes = Number(2);
    if (!problem_.empty()) return Fail(held);
    if (hours > 24) Range("time zone offset hour");
    if (minutes > 60) Range("time zone offset minute");
    offset_ = (hours * 60 + minutes) * 60;
    if (negative) offset_ = -offset_;
  }
  void Step() {
    if (Layout("2006")) {
      if (rest_.size() < 4 || !IsDigit(rest_[0])) return Fail();
      year_ = Number(4);
    } else if (Layout("01")) {
      month_ = Number(2);
      if (problem_.empty() && (month_ < 1 || month_ > 12)) {
        Range("month");
        month_ = 1;
      }
    } else if (Layout("02")) {
      day_ = Number(2);
    } else if (Layout("15")) {
      hour_ = Number(2, true);
      if (hour_ > 23) Range("hour");
    } else if (Layout("04")) {
      minute_ = Number(2);
      if (minute_ > 59) Range("minute");
    } else if (Layout("05")) {
      Seconds();
    } else if (Layout(".000000")) {
      Fraction(6);
    } else if (Layout(".000")) {
      Fraction(3);
    } else if (Layout("Z07:00")) {
      Zone();
    } else {
      chunk_ = layout_.substr(0, 1);
      if (rest_.empty() || rest_[0] != layout_[0]) return Fail();
      rest_.remove_prefix(1);
      layout_.remove_prefix(1);
    }
  }

  std::string_view layout_, value_, text_, rest_, chunk_;
  std::string problem_, range_;
  std::int64_t year_ = 0;
  int month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0;
  std::uint32_t nanos_ = 0;
  std::int32_t offset_ = 0;
};

constexpr std::string_view kRfc3339 = "2006-01-02T15:04:05Z07:00";

void AppendPadded(std::string& out, std::int64_t n, int width) {
  const std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()); i < width; ++i) out += '0';
  out += digits;
}

struct DurationUnit {
  std::string_view name;
  std::uint64_t nanos;
};
constexpr std::array<DurationUnit, 8> kDurationUnits = {{{"ns", 1},
                                                         {"us", 1000},
                                                         {"\xc2\xb5s", 1000},
                                                         {"\xce\xbcs", 1000},
                                                         {"ms", 1'000'000},
                                                         {"s", 1'000'000'000},
                                                         {"m", 60'000'000'000},
                                                         {"h", 3'600'000'000'000}}};

constexpr std::uint64_t kDurationLimit = std::uint64_t{1} << 63;

// The whole part of a number; false on overflow.
bool LeadingInteger(std::string_view& s, std::uint64_t& n) {
  n = 0;
  while (!s.empty() && IsDigit(s[0])) {
    if (n > kDurationLimit / 10) return false;
    n = n * 10 + static_cast<std::uint64_t>(s[0] - '0');
    if (n > kDurationLimit) return false;
    s.remove_prefix(1);
  }
  return true;
}

struct OpenApiUnit {
  std::array<std::string_view, 3> names;  // the last is a prefix
  std::size_t count;
  std::int64_t nanos;
};
constexpr std::array<OpenApiUnit, 8> kOpenApiUnits = {{{{"ns", "nano"}, 2, 1},
                                                       {{"us", "\xc2\xb5s", "micro"}, 3, 1000},
                                                       {{"ms", "milli"}, 2, 1'000'000},
                                                       {{"s", "sec"}, 2, 1'000'000'000},
                                                       {{"m", "min"}, 2, 60'000'000'000},
                                                       {{"h", "hr", "hour"}, 3, 3'600'000'000'000},
                                                       {{"d", "day"}, 2, 86'400'000'000'000},
                                                       {{"w", "wk", "week"}, 3, 604'800'000'000'000}}};

// Nanoseconds of "<count> <unit>" as many times as the unit's names match it; 0 if none does.
std::int64_t OpenApiUnitNanos(std::string_view unit, std::int64_t count, bool* known) {
  std::int64_t sum = 0;
  for (const OpenApiUnit& candidate : kOpenApiUnits)
    for (std::size_t i = 0; i < candidate.count; ++i) {
      const std::string_view name = candidate.names[i];
      if (unit != name && !(i + 1 == candidate.count && unit.starts_with(name))) continue;
      *known = true;
      // Wraps around on overflow, as Go's multiplication does.
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                      static_cast<std::uint64_t>(count) *
                                          static_cast<std::uint64_t>(candidate.nanos));
    }
  return sum;
}

bool IsUnitCharacter(std::string_view s, std::size_t i, std::size_t* length) {
  const char c = s[i];
  *length = 1;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  *length = 2;
  return s.substr(i, 2) == "\xc2\xb5";
}

std::optional<int> ParseGoInteger(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || text.size() > 6) return std::nullopt;
  int n = 0;
  for (char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    n = n * 10 + (c - '0');
  }
  return negative ? -n : n;
}

std::string GoIntegerProblem(std::string_view text) {
  return "strconv.Atoi: parsing \"" + std::string(text) + "\": invalid syntax";
}

}  // namespace

CivilTime ToCivil(std::int64_t seconds) {
  std::int64_t days = seconds / kSecondsPerDay;
  std::int64_t rest = seconds % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  const std::int64_t z = days + 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const auto doe = static_cast<int>(z - era * 146097);
  const int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int mp = (5 * doy + 2) / 153;
  CivilTime t{};
  t.day = doy - (153 * mp + 2) / 5 + 1;
  t.month = mp < 10 ? mp + 3 : mp - 9;
  t.year = yoe + era * 400 + (t.month <= 2);
  t.hour = static_cast<int>(rest / 3600);
  t.minute = static_cast<int>(rest / 60 % 60);
  t.second = static_cast<int>(rest % 60);
  t.weekday = static_cast<int>(((days % 7) + 11) % 7);
  t.year_day = static_cast<int>(days - DaysFromCivil(t.year, 1, 1));
  return t;
}

std::optional<Instant> ParseGoTime(std::string_view layout, std::string_view text, std::string* problem) {
  return TimeParser(layout, text).Parse(problem);
}

std::optional<Instant> ParseRfc3339(std::string_view text) {
  return ParseGoTime(kRfc3339, text);
}

std::optional<Instant> ParseOpenApiDateTime(std::string_view text, std::string* problem) {
  if (text.empty()) return Instant{};
  for (std::string_view layout :
       {std::string_view("2006-01-02T15:04:05.000000Z07:00"),
        std::string_view("2006-01-02T15:04:05.000Z07:00"), kRfc3339, std::string_view("2006-01-02T15:04:05")})
    if (auto instant = ParseGoTime(layout, text, problem)) return instant;
  return std::nullopt;
}

std::string FormatRfc3339Nano(const Instant& instant) {
  const CivilTime t = ToCivil(instant.seconds + instant.offset);
  std::string out;
  AppendPadded(out, t.year, 4);
  out += '-';
  AppendPadded(out, t.month, 2);
  out += '-';
  AppendPadded(out, t.day, 2);
  out += 'T';
  AppendPadded(out, t.hour, 2);
  out += ':';
  AppendPadded(out, t.minute, 2);
  out += ':';
  AppendPadded(out, t.second, 2);
  if (instant.nanoseconds) {
    std::string fraction;
    AppendPadded(fraction, instant.nanoseconds, 9);
    while (fraction.back() == '0') fraction.pop_back();
    out += '.' + fraction;
  }
  if (instant.offset == 0) return out += 'Z';
  const std::int32_t minutes = std::abs(instant.offset) / 60;
  out += instant.offset < 0 ? '-' : '+';
  AppendPadded(out, minutes / 60, 2);
  out += ':';
  AppendPadded(out, minutes % 60, 2);
  return out;
}

std::optional<std::int64_t> ParseGoDuration(std::string_view s) {
  bool negative = false;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) {
    negative = s[0] == '-';
    s.remove_prefix(1);
  }
  if (s == "0") return 0;
  if (s.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!s.empty()) {
    if (s[0] != '.' && !IsDigit(s[0])) return std::nullopt;
    std::uint64_t whole = 0;
    const std::size_t before = s.size();
    if (!LeadingInteger(s, whole)) return std::nullopt;
    const bool has_whole = s.size() != before;
    std::uint64_t fraction = 0;
    double scale = 1;
    bool has_fraction = false;
    if (!s.empty() && s[0] == '.') {
      s.remove_prefix(1);
      bool overflow = false;
      while (!s.empty() && IsDigit(s[0])) {
        has_fraction = true;
        const std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(s[0] - '0');
        if (fraction > (kDurationLimit - 1) / 10 || next > kDurationLimit) overflow = true;
        if (!overflow) {
          fraction = next;
          scale *= 10;
        }
        s.remove_prefix(1);
      }
    }
    if (!has_whole && !has_fraction) return std::nullopt;
    std::size_t length = 0;
    while (length < s.size() && s[length] != '.' && !IsDigit(s[length])) ++length;
    const std::string_view name = s.substr(0, length);
    s.remove_prefix(length);
    const auto unit = std::find_if(kDurationUnits.begin(), kDurationUnits.end(),
                                   [&](const auto& u) { return u.name == name; });
    if (unit == kDurationUnits.end() || whole > kDurationLimit / unit->nanos) return std::nullopt;
    std::uint64_t nanos = whole * unit->nanos;
    if (fraction > 0) {
      nanos += static_cast<std::uint64_t>(static_cast<double>(fraction) *
                                          (static_cast<double>(unit->nanos) / scale));
      if (nanos > kDurationLimit) return std::nullopt;
    }
    total += nanos;
    if (total > kDurationLimit) return std::nullopt;
  }
  if (negative) return static_cast<std::int64_t>(~total + 1);
  if (total > kDurationLimit - 1) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::optional<std::int64_t> ParseOpenApiDuration(std::string_view text, std::string* problem) {
  if (auto duration = ParseGoDuration(text)) return duration;
  std::int64_t total = 0;
  bool known = false;
  for (std::size_t i = 0; i < text.size();) {
    if (!IsDigit(text[i])) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    const std::string_view digits = text.substr(start, i - start);
    std::size_t unit_start = i;
    while (unit_start < text.size() && std::strchr(" \t\n\f\r", text[unit_start])) ++unit_start;
    std::size_t end = unit_start, length = 0;
    while (end < text.size() && IsUnitCharacter(text, end, &length)) end += length;
    if (end == unit_start) continue;
    std::uint64_t count = 0;
    if (digits.size() > 18) {
      *problem = "strconv.Atoi: parsing \"" + std::string(digits) + "\": value out of range";
      return std::nullopt;
    }
    for (char c : digits) count = count * 10 + static_cast<std::uint64_t>(c - '0');
    std::string unit(text.substr(unit_start, end - unit_start));
    for (char& c : unit)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    total += OpenApiUnitNanos(unit, static_cast<std::int64_t>(count), &known);
    i = end;
  }
  if (known) return total;
  *problem = "unable to parse " + std::string(text) + " as duration";
  return std::nullopt;
}

std::string FormatDuration(std::int64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds / kNanosPerSecond) +
                         static_cast<double>(nanoseconds % kNanosPerSecond) / 1e9;
  return FormatPlainDouble(seconds) + "s";
}

std::optional<std::int32_t> ZoneOffset(std::string_view zone, std::int64_t seconds, std::string* problem) {
  const std::size_t colon = zone.find(':');
  if (colon == std::string_view::npos) {
    if (zone.empty() || zone == "UTC") return 0;
    const auto found = TimeZone::Find(zone);
    if (!found) {
      *problem = "unknown time zone " + std::string(zone);
      return std::nullopt;
    }
    return static_cast<std::int32_t>(found->OffsetAt(seconds));
  }
  const std::string_view hours_text = zone.substr(0, colon), minutes_text = zone.substr(colon + 1);
  const auto hours = ParseGoInteger(hours_text);
  const auto minutes = ParseGoInteger(minutes_text);
  if (!hours || !minutes) {
    *problem = GoIntegerProblem(!hours ? hours_text : minutes_text);
    return std::nullopt;
  }
  return (zone[0] == '-' ? *hours * 60 - *minutes : *hours * 60 + *minutes) * 60;
}

}  // namespace flyball::cel
