// TimeZone: converts to local time with the machine's time zone database (/usr/share/zoneinfo, or the folder
// in $ZONEINFO), in the format of RFC 8536.
//
// Not a library's: cctz, the usual one, keeps every name it is ever asked for, and here users send the names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball {

// A value; immutable. Times are seconds since 1970 in UTC.
class TimeZone {
 public:
  // A period in which the UTC offset does not change. `end` is the first second after it.
  struct Period {
    std::int64_t begin, end;
    std::int64_t offset;  // seconds east of UTC
  };

  TimeZone() = default;  // UTC
  // Reads "Europe/Berlin" from the database; "UTC" needs none. NotFound, in Go's words, if there is no such
  // zone.
  static Result<TimeZone> Load(std::string_view name);
  // The same, read once and shared; null if there is no such zone. Thread-safe.
  static std::shared_ptr<const TimeZone> Find(std::string_view name);
  // Parses a file of the database. BadRequest if it is not such a file.
  static Result<TimeZone> Parse(std::string_view bytes);

  Period At(std::int64_t time) const;
  std::int64_t OffsetAt(std::int64_t time) const { return At(time).offset; }

 private:
  // One of the two days per year on which clocks change, as described by POSIX TZ strings.
  struct YearlyRule {
    enum class Kind { kMonthWeekDay, kJulian, kDayOfYear } kind = Kind::kMonthWeekDay;
    int month = 1, week = 1, day = 0;
    std::int64_t second = 2 * 3600;
    std::int64_t SecondsInto(int year) const;
  };
  // The rule that applies forever after the last transition in the file.
  struct Footer {
    std::int64_t standard = 0, daylight = 0;
    bool has_daylight = false;
    YearlyRule start, end;
  };
  struct Transition {
    std::int64_t at, offset;
  };
  friend class TzStringReader;

  Period ByFooter(std::int64_t time) const;

  std::vector<Transition> transitions_;  // by time
  std::int64_t first_offset_ = 0;        // before the first of them
  std::optional<Footer> footer_;
};

}  // namespace flyball
