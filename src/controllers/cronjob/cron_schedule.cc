#include "controllers/cronjob/cron_schedule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include "api/values/duration.h"

namespace flyball::controllers {
namespace {

constexpr auto kFarthest = std::chrono::days(5 * 366);
constexpr std::string_view kEvery = "@every ";
// Upstream warns when more than so many were missed.
constexpr int kMany = 100;

struct Bounds {
  int min, max;
  std::vector<std::string_view> names;  // of min, min+1, ...
};
const Bounds kMinutes{0, 59, {}};
const Bounds kHours{0, 23, {}};
const Bounds kDays{1, 31, {}};
const Bounds kMonths{
    1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}};
const Bounds kWeekdays{0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMacros = {{{"@yearly", "0 0 1 1 *"},
                                                                                   {"@annually", "0 0 1 1 *"},
                                                                                   {"@monthly", "0 0 1 * *"},
                                                                                   {"@weekly", "0 0 * * 0"},
                                                                                   {"@daily", "0 0 * * *"},
                                                                                   {"@midnight", "0 0 * * *"},
                                                                                   {"@hourly", "0 * * * *"}}};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> ParseValue(std::string_view text, const Bounds& bounds) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t i = 0; i < bounds.names.size(); ++i)
    if (bounds.names[i] == lower) return bounds.min + static_cast<int>(i);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One part of a field: "*", "5", "1-5", any of them "/2".
template <std::size_t N>
bool AddRange(std::string_view part, const Bounds& bounds, std::bitset<N>& set, bool& star) {
  const auto step_parts = Split(part, '/');
  if (step_parts.size() > 2) return false;
  const auto range = Split(step_parts[0], '-');
  int first = bounds.min, last = bounds.max, step = 1;
  if (step_parts[0] == "*" || step_parts[0] == "?") {
    star = true;
  } else {
    const auto a = ParseValue(range[0], bounds);
    const auto b = range.size() > 1 ? ParseValue(range[1], bounds) : a;
    if (!a || !b || range.size() > 2) return false;
    first = *a;
    // "5/10" is every tenth from the fifth on.
    if (range.size() > 1 || step_parts.size() == 1) last = *b;
  }
  if (step_parts.size() == 2) {
    const auto parsed = ParseValue(step_parts[1], kMinutes);
    if (!parsed || *parsed < 1) return false;
    step = *parsed;
    if (step > 1) star = false;
  }
  if (first < bounds.min || last > bounds.max || first > last) return false;
  for (int i = first; i <= last; i += step) set.set(static_cast<std::size_t>(i));
  return true;
}

template <std::size_t N>
bool ParseField(std::string_view text, const Bounds& bounds, std::bitset<N>& set, bool& star) {
  for (const std::string_view part : Split(text, ','))
    if (!AddRange(part, bounds, set, star)) return false;
  return true;
}

using std::chrono::floor;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

Result<Duration> ParseEvery(std::string_view text) {
  const auto duration = api::ParseDuration(text);
  if (!duration)
    return Unexpected(BadRequest("failed to parse duration @every " + std::string(text) + ": " +
                                 duration.error().message()));
  return std::max<Duration>(floor<seconds>(*duration), seconds(1));
}

}  // namespace

Result<CronSchedule> CronSchedule::Parse(std::string_view text, TimeZone zone) {
  CronSchedule schedule;
  schedule.zone_ = std::move(zone);
  if (text.starts_with(kEvery)) {
    FLYBALL_ASSIGN(schedule.every_, ParseEvery(text.substr(kEvery.size())));
    return schedule;
  }
  for (const auto& [name, meaning] : kMacros)
    if (text == name) text = meaning;
  std::vector<std::string_view> fields = Split(text, ' ');
  std::erase_if(fields, [](std::string_view field) { return field.empty(); });
  if (fields.size() != 5)
    return Unexpected(BadRequest("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" +
                                 std::string(text) + "]"));
  bool ignored = false;
  const bool good = ParseField(fields[0], kMinutes, schedule.minutes_, ignored) &&
                    ParseField(fields[1], kHours, schedule.hours_, ignored) &&
                    ParseField(fields[2], kDays, schedule.days_, schedule.any_day_) &&
                    ParseField(fields[3], kMonths, schedule.months_, ignored) &&
                    ParseField(fields[4], kWeekdays, schedule.weekdays_, schedule.any_weekday_);
  if (!good) return Unexpected(BadRequest("failed to parse schedule " + std::string(text)));
  return schedule;
}

bool CronSchedule::MatchesDay(sys_days day) const {
  const std::chrono::year_month_day date(day);
  if (!months_.test(static_cast<unsigned>(date.month()))) return false;
  const bool by_day = days_.test(static_cast<unsigned>(date.day()));
  const bool by_weekday = weekdays_.test(std::chrono::weekday(day).c_encoding());
  return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

bool CronSchedule::MatchesTime(minutes of_day) const {
  return hours_.test(static_cast<std::size_t>(of_day.count() / 60)) &&
         minutes_.test(static_cast<std::size_t>(of_day.count() % 60));
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

// Goes from one period of unchanged clocks to the next: within one, local times are as good as any.
std::optional<TimePoint> CronSchedule::Next(TimePoint t) const {
  if (every_) return floor<seconds>(t) + *every_;
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
  if (every_) return {*first + (now - *first) / between * between, many};
  return {Previous(now), many};
}

}  // namespace flyball::controllers
