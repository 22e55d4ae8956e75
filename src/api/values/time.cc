#include "api/values/time.h"

#include <limits>

namespace flyball::api {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::string_view kSecondsLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

// Days since 1970-01-01 of a date of the proleptic Gregorian calendar (Howard Hinnant's days_from_civil).
std::int64_t DaysFromCivil(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

struct Civil {
  std::int64_t year;
  int month, day;
};

Civil CivilFromDays(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  const int month = static_cast<int>(shifted_month + (shifted_month < 10 ? 3 : -9));
  return {year_of_era + era * 400 + (month <= 2), month, day};
}

int DaysIn(int month, int year) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

bool IsDigit(std::string_view s, std::size_t i) {
  return i < s.size() && s[i] >= '0' && s[i] <= '9';
}

// As Go's time package quotes: bytes, not characters.
std::string Quote(std::string_view s) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x80) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xF];
    } else {
      out += c;
    }
  }
  return out += '"';
}

// Walks the two layouts element by element and fails as Go's time.Parse fails. Each Read returns false after
// having set error_.
class TimeParser {
 public:
  TimeParser(std::string_view text, bool micro) : text_(text), rest_(text), micro_(micro) {}

  Result<Time> Run() {
    const bool ok = ReadDate() && Skip('T') && ReadClock() && ReadZone() && AtEnd() && CheckDay();
    if (!ok) return Unexpected(BadRequest(std::move(error_)));
    Time t;
    t.seconds = DaysFromCivil(year_, month_, day_) * 86400 + hour_ * 3600 + minute_ * 60 + second_ - offset_;
    t.nanos = nanos_;
    return t;
  }

 private:
  bool ReadDate() {
    return ReadYear() && Skip('-') && ReadNumber("01", true, month_) &&
           InRange(month_ >= 1 && month_ <= 12, "month") && Skip('-') && ReadNumber("02", true, day_);
  }

  bool ReadClock() {
    return ReadNumber("15", false, hour_) && InRange(hour_ < 24, "hour") && Skip(':') &&
           ReadNumber("04", true, minute_) && InRange(minute_ < 60, "minute") && Skip(':') &&
           ReadNumber("05", true, second_) && InRange(second_ < 60, "second") && ReadFraction();
  }

  bool ReadYear() {
    if (rest_.size() < 4 || !IsDigit(rest_, 0)) return Cannot("2006", rest_);
    for (std::size_t i = 0; i < 4; ++i) {
      if (!IsDigit(rest_, i)) return Cannot("2006", rest_);
      year_ = year_ * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(4);
    return true;
  }

  bool ReadNumber(std::string_view element, bool two_digits, int& number) {
    if (!IsDigit(rest_, 0) || (two_digits && !IsDigit(rest_, 1))) return Cannot(element, rest_);
    number = rest_[0] - '0';
    rest_.remove_prefix(1);
    if (!IsDigit(rest_, 0)) return true;
    number = number * 10 + (rest_[0] - '0');
    rest_.remove_prefix(1);
    return true;
  }

  bool ReadFraction() {
    constexpr std::size_t kMicroWidth = 7;  // the point and six digits
    if (!micro_) {
      const bool given = rest_.size() >= 2 && (rest_[0] == '.' || rest_[0] == ',') && IsDigit(rest_, 1);
      return !given || ReadDigits(std::string_view::npos);
    }
    const bool point = rest_.size() >= kMicroWidth && (rest_[0] == '.' || rest_[0] == ',');
    for (std::size_t i = 1; i < kMicroWidth; ++i) {
      if (!point || !IsDigit(rest_, i)) return Cannot(".000000", rest_);
    }
    return ReadDigits(kMicroWidth);
  }

  // The point and at most `width` - 1 digits; what is finer than a nanosecond is cut off.
  bool ReadDigits(std::size_t width) {
    std::size_t i = 1;
    for (std::int32_t unit = kNanosPerSecond / 10; i < width && IsDigit(rest_, i); ++i, unit /= 10) {
      nanos_ += unit * (rest_[i] - '0');
    }
    rest_.remove_prefix(i);
    return true;
  }

  bool ReadZone() {
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      return true;
    }
    const std::string_view at = rest_;
    const bool form = at.size() >= 6 && at[3] == ':' && (at[0] == '+' || at[0] == '-') && IsDigit(at, 1) &&
                      IsDigit(at, 2) && IsDigit(at, 4) && IsDigit(at, 5);
    if (!form) return Cannot("Z07:00", at);
    const int hours = (at[1] - '0') * 10 + (at[2] - '0');
    const int minutes = (at[4] - '0') * 10 + (at[5] - '0');
    rest_.remove_prefix(6);
    if (!InRange(hours <= 24, "time zone offset hour")) return false;
    if (!InRange(minutes <= 60, "time zone offset minute")) return false;
    offset_ = (hours * 60 + minutes) * 60 * (at[0] == '-' ? -1 : 1);
    return true;
  }

  bool AtEnd() {
    if (rest_.empty()) return true;
    error_ = "parsing time " + Quote(text_) + ": extra text: " + Quote(rest_);
    return false;
  }

  bool CheckDay() { return InRange(day_ >= 1 && day_ <= DaysIn(month_, year_), "day"); }

  bool Skip(char c) {
    if (!rest_.starts_with(c)) return Cannot(std::string_view(&c, 1), rest_);
    rest_.remove_prefix(1);
    return true;
  }

  bool InRange(bool ok, std::string_view what) {
    if (!ok) error_ = "parsing time " + Quote(text_) + ": " + std::string(what) + " out of range";
    return ok;
  }

  bool Cannot(std::string_view element, std::string_view at) {
    error_ = "parsing time " + Quote(text_) + " as " + Quote(micro_ ? kMicroLayout : kSecondsLayout) +
             ": cannot parse " + Quote(at) + " as " + Quote(element);
    return false;
  }

  std::string_view text_, rest_;
  bool micro_;
  int year_ = 0, month_ = 0, day_ = 0, hour_ = 0, minute_ = 0, second_ = 0, offset_ = 0;
  std::int32_t nanos_ = 0;
  std::string error_;
};

void Put(std::string& out, std::size_t at, std::int64_t number, int digits) {
  for (int i = digits - 1; i >= 0; --i, number /= 10) {
    out[at + static_cast<std::size_t>(i)] = static_cast<char>('0' + number % 10);
  }
}

std::string Format(Time t, std::string shape) {
  const std::int64_t days = (t.seconds >= 0 ? t.seconds : t.seconds - 86399) / 86400;
  const std::int64_t second_of_day = t.seconds - days * 86400;
  const Civil date = CivilFromDays(days);
  Put(shape, 0, date.year, 4);
  Put(shape, 5, date.month, 2);
  Put(shape, 8, date.day, 2);
  Put(shape, 11, second_of_day / 3600, 2);
  Put(shape, 14, second_of_day / 60 % 60, 2);
  Put(shape, 17, second_of_day % 60, 2);
  return shape;
}

}  // namespace

Time Time::From(TimePoint t) {
  const std::int64_t total = t.time_since_epoch().count();
  std::int64_t nanos = total % kNanosPerSecond;
  if (nanos < 0) nanos += kNanosPerSecond;
  return {(total - nanos) / kNanosPerSecond, static_cast<std::int32_t>(nanos)};
}

TimePoint Time::ToTimePoint() const {
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / kNanosPerSecond - 1;
  if (seconds > kLimit) return TimePoint::max();
  if (seconds < -kLimit) return TimePoint::min();
  return TimePoint(Duration(seconds * kNanosPerSecond + nanos));
}

Result<Time> ParseTime(std::string_view text) {
  return TimeParser(text, false).Run();
}

Result<Time> ParseMicroTime(std::string_view text) {
  return TimeParser(text, true).Run();
}

std::string FormatTime(Time t) {
  return Format(t, "0000-00-00T00:00:00Z");
}

std::string FormatMicroTime(Time t) {
  std::string text = Format(t, "0000-00-00T00:00:00.000000Z");
  Put(text, 20, t.nanos / 1000, 6);
  return text;
}

}  // namespace flyball::api
