// CronSchedule: when a CronJob runs: five fields, or a macro such as @daily (upstream: robfig/cron's standard
// parser).
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace flyball::controllers {

// A value. Times are UTC.
class CronSchedule {
 public:
  // "*/5 1-3 * JAN,JUL mon" or "@hourly". BadRequest if it is neither.
  static Result<CronSchedule> Parse(std::string_view text);

  // The first time after `t`; nothing if there is none in the next five years (30 February).
  std::optional<TimePoint> Next(TimePoint t) const;
  // The last time at or before `t`; nothing if there was none in the last five years.
  std::optional<TimePoint> Previous(TimePoint t) const;

 private:
  bool MatchesDay(std::chrono::sys_days day) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  // A day has to match both, unless both are limited: then either.
  bool any_day_ = false, any_weekday_ = false;
};

}  // namespace flyball::controllers
