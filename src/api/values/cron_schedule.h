// Cron schedules as the library Kubernetes uses reads them (robfig/cron's standard parser). The API checks
// schedules with this parser and the CronJob controller runs by it, so both accept the same texts.
#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::api {

// What a schedule says. Either `every` is set, or the fields are: the values at which it fires.
struct CronFields {
  std::string zone;  // of a "TZ=" or "CRON_TZ=" prefix; empty: none
  std::optional<Duration> every;
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<32> days;
  std::bitset<13> months;
  std::bitset<7> weekdays;
  // The field is "*" or "?". A day must match both day fields, unless neither is a star: then either.
  bool any_day = false, any_weekday = false;
};

// Five fields, an @descriptor or "@every <duration>". BadRequest with the library's message.
Result<CronFields> ParseCronSchedule(std::string_view schedule);

// True for the names of the IANA time zone database.
bool IsTimeZone(std::string_view name);

}  // namespace flyball::api
