// CronSchedule: the times at which a CronJob runs, in its time zone. api/values/cron_schedule.h parses the
// text.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "api/values/cron_schedule.h"
#include "base/files/time_zone.h"
#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::controllers {

// A value.
class CronSchedule {
 public:
  // "*/5 1-3 * JAN,JUL mon", "@hourly" or "@every 1h30m". BadRequest if the text is none of these. Fields are
  // local times in `zone`, or in the zone that the text itself names. A local time that is skipped never
  // fires; one that occurs twice fires twice.
  static Result<CronSchedule> Parse(std::string_view text, TimeZone zone = {});

  bool is_interval() const { return fields_.every.has_value(); }
  // Returns the first time after `t`; nothing if there is none in the next five years (30 February).
  std::optional<TimePoint> Next(TimePoint t) const;

  // The times after `earliest` and up to `now`: the last of them, and whether there are very many (more than
  // about a hundred).
  struct Missed {
    std::optional<TimePoint> last;
    bool many = false;
  };
  Missed MissedSince(TimePoint earliest, TimePoint now) const;

 private:
  using Minute = std::chrono::sys_time<std::chrono::minutes>;
  bool MatchesDay(std::chrono::sys_days day) const;
  bool MatchesTime(std::chrono::minutes of_day) const;
  // Within [begin, end) of local time.
  std::optional<Minute> FirstIn(Minute begin, Minute end) const;
  std::optional<Minute> LastIn(Minute begin, Minute end) const;
  // Returns the last time at or before `t`; nothing if there was none in the last five years.
  std::optional<TimePoint> Previous(TimePoint t) const;

  api::CronFields fields_;
  TimeZone zone_;
};

}  // namespace flyball::controllers
