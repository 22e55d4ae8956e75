// Points in time and durations as Go reads and writes them. Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flyball::cel {

// A date of the proleptic Gregorian calendar and the time of day.
struct CivilTime {
  std::int64_t year;
  int month, day;  // from 1
  int hour, minute, second;
  int weekday;   // 0 is Sunday
  int year_day;  // 0 is 1 January
};

struct Instant {
  std::int64_t seconds = 0;  // since 1970 UTC
  std::uint32_t nanoseconds = 0;
  std::int32_t offset = 0;  // seconds east of UTC of the zone it was written in
};

// The years 1 to 9999: what a timestamp may be.
inline constexpr std::int64_t kMinTimestamp = -62135596800;
inline constexpr std::int64_t kMaxTimestamp = 253402300799;

CivilTime ToCivil(std::int64_t seconds);

// time.Parse(layout, text). `problem` gets Go's message. Layouts are made of 2006 01 02 15 04 05 .000 .000000
// Z07:00.
std::optional<Instant> ParseGoTime(std::string_view layout, std::string_view text,
                                   std::string* problem = nullptr);
std::optional<Instant> ParseRfc3339(std::string_view text);
// The layouts that OpenAPI's date-time accepts.
std::optional<Instant> ParseOpenApiDateTime(std::string_view text, std::string* problem);
std::string FormatRfc3339Nano(const Instant& instant);

// time.ParseDuration: "1h30m", "-1.5s".
std::optional<std::int64_t> ParseGoDuration(std::string_view text);
// What OpenAPI's duration accepts besides: "3 days", "2w".
std::optional<std::int64_t> ParseOpenApiDuration(std::string_view text, std::string* problem);
// "3600s", "0.5s".
std::string FormatDuration(std::int64_t nanoseconds);

// Seconds east of UTC in the zone ("Europe/Berlin", "+05:30", "UTC", "") at that time; nothing and Go's
// message if there is no such zone.
std::optional<std::int32_t> ZoneOffset(std::string_view zone, std::int64_t seconds, std::string* problem);

}  // namespace flyball::cel
