// Time and MicroTime: the API's two moments, both in UTC: RFC 3339 with whole seconds (metav1.Time) and with
// six digits of a second (metav1.MicroTime). Years 1 to 9999.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::api {

// A moment. The zero moment, 0001-01-01T00:00:00Z, is Go's zero time and is written as null. A value.
struct Time {
  static constexpr std::int64_t kZeroSeconds = -62135596800;  // Unix time of 0001-01-01T00:00:00Z

  std::int64_t seconds = kZeroSeconds;  // since 1970, UTC
  std::int32_t nanos = 0;               // 0 .. 999,999,999

  static Time From(TimePoint t);
  // Saturates where a TimePoint (64-bit nanoseconds) cannot say it.
  TimePoint ToTimePoint() const;

  bool IsZero() const { return seconds == kZeroSeconds && nanos == 0; }
  auto operator<=>(const Time&) const = default;
};

// What Go's time.Parse takes for "2006-01-02T15:04:05Z07:00": any offset, any number of digits of a second.
// BadRequest with Go's text otherwise: `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse ...`.
Result<Time> ParseTime(std::string_view text);
// For "2006-01-02T15:04:05.000000Z07:00": exactly six digits of a second.
Result<Time> ParseMicroTime(std::string_view text);

// "2024-01-01T00:00:00Z"; fractions are cut off.
std::string FormatTime(Time t);
// "2024-01-01T00:00:00.123456Z".
std::string FormatMicroTime(Time t);

inline std::string FormatTime(TimePoint t) {
  return FormatTime(Time::From(t));
}
inline std::string FormatMicroTime(TimePoint t) {
  return FormatMicroTime(Time::From(t));
}

}  // namespace flyball::api
