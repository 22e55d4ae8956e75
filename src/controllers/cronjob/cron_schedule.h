// CronSchedule: the times at which a CronJob runs, in its time zone. The text is parsed by
// api/values/cron_schedule.h.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "api/values/cron_schedule.h"
#include "base/run/clock.h"
#include "base/values/result.h"
#include "controllers/cronjob/time_zone.h"

namespace flyball::controllers {

// A value.
class CronSchedule {
 public:
  // "*/5 1-3 * JAN,JUL mon", "@hourly" or "@every 1h30m". BadRequest if it is none of them. Fields are local
  // times of `zone`, or of the zone that the text itself names: a local time that is skipped never fires, one
  // that occurs twice fires twice.
  static Result<CronSchedule> Parse(std::string_view text, TimeZone zone = {});

  bool is_interval() const { return fields_.every.has_value(); }
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

  api::CronFields fields_;
  TimeZone zone_;
};

}  // namespace flyball::controllers
