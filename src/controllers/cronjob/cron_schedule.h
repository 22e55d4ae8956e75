// CronSchedule: when a CronJob runs: five fields, a macro such as @daily, or @every 90s (upstream:
// robfig/cron's standard parser).
#pragma once

#include <bitset>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "controllers/cronjob/time_zone.h"

namespace flyball::controllers {

// A value.
class CronSchedule {
 public:
  // "*/5 1-3 * JAN,JUL mon", "@hourly" or "@every 1h30m". BadRequest if it is none of them. Fields are meant
  // as the clocks of `zone` show them: a time that they skip never comes, one that they show twice comes
  // twice.
  static Result<CronSchedule> Parse(std::string_view text, TimeZone zone = {});

  bool is_interval() const { return every_.has_value(); }
  // The first time after `t`; nothing if there is none in the next five years (30 February).
  std::optional<TimePoint> Next(TimePoint t) const;

  // Times after `earliest` and not after `now`: the last of them, and whether there are very many (more than
  // a hundred, roughly counted).
  struct Missed {
    std::optional<TimePoint> last;
    bool many = false;
  };
  Missed MissedSince(TimePoint earliest, TimePoint now) const;

 private:
  using Minute = std::chrono::sys_time<std::chrono::minutes>;
  bool MatchesDay(std::chrono::sys_days day) const;
  bool MatchesTime(std::chrono::minutes of_day) const;
  // Among [begin, end) of what the clocks show.
  std::optional<Minute> FirstIn(Minute begin, Minute end) const;
  std::optional<Minute> LastIn(Minute begin, Minute end) const;
  // The last time at or before `t`; nothing if there was none in the last five years.
  std::optional<TimePoint> Previous(TimePoint t) const;

  std::optional<Duration> every_;  // then nothing else is set
  TimeZone zone_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  // A day has to match both, unless both are limited: then either.
  bool any_day_ = false, any_weekday_ = false;
};

}  // namespace flyball::controllers
