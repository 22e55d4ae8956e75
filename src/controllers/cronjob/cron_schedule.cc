#include "controllers/cronjob/cron_schedule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

namespace flyball::controllers {
namespace {

constexpr int kMaxDays = 5 * 366;

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
using std::chrono::sys_days;

}  // namespace

Result<CronSchedule> CronSchedule::Parse(std::string_view text) {
  for (const auto& [name, meaning] : kMacros)
    if (text == name) text = meaning;
  std::vector<std::string_view> fields = Split(text, ' ');
  std::erase_if(fields, [](std::string_view field) { return field.empty(); });
  if (fields.size() != 5)
    return Unexpected(BadRequest("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" +
                                 std::string(text) + "]"));
  CronSchedule schedule;
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

std::optional<TimePoint> CronSchedule::Next(TimePoint t) const {
  const auto start = floor<minutes>(t) + minutes(1);
  sys_days day = floor<std::chrono::days>(start);
  for (int i = 0; i < kMaxDays; ++i, day += std::chrono::days(1)) {
    if (!MatchesDay(day)) continue;
    const auto from = std::max<std::chrono::sys_time<minutes>>(day, start);
    for (auto at = from; at < day + std::chrono::days(1); at += minutes(1)) {
      const auto of_day = (at - day).count();
      if (hours_.test(static_cast<std::size_t>(of_day / 60)) &&
          minutes_.test(static_cast<std::size_t>(of_day % 60)))
        return TimePoint(at);
    }
  }
  return std::nullopt;
}

std::optional<TimePoint> CronSchedule::Previous(TimePoint t) const {
  const std::chrono::sys_time<minutes> end = floor<minutes>(t);
  sys_days day = floor<std::chrono::days>(end);
  for (int i = 0; i < kMaxDays; ++i, day -= std::chrono::days(1)) {
    if (!MatchesDay(day)) continue;
    const auto from = std::min<std::chrono::sys_time<minutes>>(day + minutes(24 * 60 - 1), end);
    for (auto at = from; at >= day; at -= minutes(1)) {
      const auto of_day = (at - day).count();
      if (hours_.test(static_cast<std::size_t>(of_day / 60)) &&
          minutes_.test(static_cast<std::size_t>(of_day % 60)))
        return TimePoint(at);
    }
  }
  return std::nullopt;
}

}  // namespace flyball::controllers
