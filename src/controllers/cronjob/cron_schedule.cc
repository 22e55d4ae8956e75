#include "controllers/cronjob/cron_schedule.h"

#include <algorithm>

namespace flyball::controllers {
namespace {

constexpr auto kFarthest = std::chrono::days(5 * 366);
// Upstream warns if more than this many were missed.
constexpr int kMany = 100;

using std::chrono::floor;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

}  // namespace

Result<CronSchedule> CronSchedule::Parse(std::string_view text, TimeZone zone) {
  CronSchedule schedule;
  FLYBALL_ASSIGN(schedule.fields_, api::ParseCronSchedule(text));
  schedule.zone_ = std::move(zone);
  if (!schedule.fields_.zone.empty()) {
    FLYBALL_ASSIGN(schedule.zone_, TimeZone::Load(schedule.fields_.zone));
  }
  return schedule;
}

bool CronSchedule::MatchesDay(sys_days day) const {
  const std::chrono::year_month_day date(day);
  if (!fields_.months.test(static_cast<unsigned>(date.month()))) return false;
  const bool by_day = fields_.days.test(static_cast<unsigned>(date.day()));
  const bool by_weekday = fields_.weekdays.test(std::chrono::weekday(day).c_encoding());
  return fields_.any_day || fields_.any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

bool CronSchedule::MatchesTime(minutes of_day) const {
  return fields_.hours.test(static_cast<std::size_t>(of_day.count() / 60)) &&
         fields_.minutes.test(static_cast<std::size_t>(of_day.count() % 60));
}

std::optional<CronSchedule::Minute> CronSchedule::FirstIn(Minute begin, Minute end) const {
  for (sys_days day = floor<std::chrono::days>(begin); day < end; day += std::chrono::days(1)) {
    if (!MatchesDay(day)) continue;
    const Minute last = std::min<Minute>(day + std::chrono::days(1), end);
    for (Minute at = std::max<Minute>(day, begin); at < last; at += minutes(1))
      if (MatchesTime(at - day)) return at;
  }
  return std::nullopt;
}

std::optional<CronSchedule::Minute> CronSchedule::LastIn(Minute begin, Minute end) const {
  for (sys_days day = floor<std::chrono::days>(end - minutes(1)); day + std::chrono::days(1) > begin;
       day -= std::chrono::days(1)) {
    if (!MatchesDay(day)) continue;
    const Minute first = std::max<Minute>(day, begin);
    for (Minute at = std::min<Minute>(day + std::chrono::days(1), end) - minutes(1); at >= first;
         at -= minutes(1))
      if (MatchesTime(at - day)) return at;
  }
  return std::nullopt;
}

// Moves from one period of constant UTC offset to the next; within one, local times need no special care.
std::optional<TimePoint> CronSchedule::Next(TimePoint t) const {
  if (fields_.every) return floor<seconds>(t) + *fields_.every;
  Minute from = floor<minutes>(t) + minutes(1);
  const Minute limit = from + kFarthest;
  while (from < limit) {
    const TimeZone::Period period = zone_.At(floor<seconds>(from).time_since_epoch().count());
    const auto offset = floor<minutes>(seconds(period.offset));
    Minute until = limit;
    if (period.end < limit.time_since_epoch() / seconds(1))
      until = std::chrono::ceil<minutes>(std::chrono::sys_seconds(seconds(period.end)));
    if (const auto found = FirstIn(from + offset, until + offset)) return TimePoint(*found - offset);
    from = until;
  }
  return std::nullopt;
}

std::optional<TimePoint> CronSchedule::Previous(TimePoint t) const {
  Minute until = floor<minutes>(t) + minutes(1);
  const Minute limit = until - kFarthest;
  while (until > limit) {
    const TimeZone::Period period = zone_.At(floor<seconds>(until - minutes(1)).time_since_epoch().count());
    const auto offset = floor<minutes>(seconds(period.offset));
    Minute from = limit;
    if (period.begin > limit.time_since_epoch() / seconds(1))
      from = std::chrono::ceil<minutes>(std::chrono::sys_seconds(seconds(period.begin)));
    if (const auto found = LastIn(from + offset, until + offset)) return TimePoint(*found - offset);
    until = std::min<Minute>(from, until - minutes(1));
  }
  return std::nullopt;
}

CronSchedule::Missed CronSchedule::MissedSince(TimePoint earliest, TimePoint now) const {
  const auto first = Next(earliest);
  if (!first || *first > now) return {};
  const auto second = Next(*first);
  if (!second || *second > now) return {first, false};
  const Duration between = *second - *first;
  const bool many = (now - *first) / between + 1 > kMany;
  if (fields_.every) return {*first + (now - *first) / between * between, many};
  return {Previous(now), many};
}

}  // namespace flyball::controllers
