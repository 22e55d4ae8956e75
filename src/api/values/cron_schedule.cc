#include "api/values/cron_schedule.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/values/duration.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

struct Field {
  std::int64_t min, max;
  std::vector<std::string_view> names;  // of min, min + 1, ...
};

const std::array<Field, 5>& Fields() {
  static const std::array<Field, 5> fields = {{
      {0, 59, {}},
      {0, 23, {}},
      {1, 31, {}},
      {1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
      {0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
  }};
  return fields;
}

// The values of one field, and whether it is a star.
struct FieldValues {
  std::bitset<60> values;
  bool star = false;
};

// Collects the first problem met; every Read returns nothing after one.
class ScheduleParser {
 public:
  // Comma-separated ranges; empty ones do not count.
  FieldValues ReadField(const std::string& text, const Field& field) {
    FieldValues read;
    for (const std::string& range : SplitWords(text, ",")) ReadRange(range, field, read);
    return read;
  }

  const std::string& problem() const { return problem_; }

 private:
  std::optional<std::int64_t> ReadNumber(const std::string& text) {
    std::int64_t number = 0;
    const bool negative = text.starts_with('-');
    const std::string_view digits = std::string_view(text).substr(negative || text.starts_with('+') ? 1 : 0);
    constexpr std::size_t kMaxDigits = 18;
    const bool ok = !digits.empty() && digits.size() <= kMaxDigits &&
                    std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!ok) {
      return Fail("failed to parse int from " + text + ": strconv.Atoi: parsing " + GoQuote(text) +
                  ": invalid syntax");
    }
    for (const char c : digits) number = number * 10 + (c - '0');
    if (negative && number > 0)
      return Fail("negative number (" + std::to_string(-number) + ") not allowed: " + text);
    return number;
  }

  std::optional<std::int64_t> ReadNumberOrName(const std::string& text, const Field& field) {
    const auto found = std::find(field.names.begin(), field.names.end(), LowerCase(text));
    if (found != field.names.end()) return field.min + (found - field.names.begin());
    return ReadNumber(text);
  }

  // "*/5", "1-10/2", "mon-fri", "7".
  void ReadRange(const std::string& text, const Field& field, FieldValues& read) {
    const std::vector<std::string> range_and_step = SplitText(text, '/');
    const std::vector<std::string> low_and_high = SplitText(range_and_step[0], '-');
    std::optional<std::int64_t> start, end;
    const bool star = low_and_high[0] == "*" || low_and_high[0] == "?";
    if (star) {
      start = field.min;
      end = field.max;
    } else {
      start = ReadNumberOrName(low_and_high[0], field);
      if (!start) return;
      if (low_and_high.size() > 2) return void(Fail("too many hyphens: " + text));
      end = low_and_high.size() == 1 ? start : ReadNumberOrName(low_and_high[1], field);
      if (!end) return;
    }
    const std::optional<std::int64_t> step =
        ReadStep(range_and_step, low_and_high.size() == 1, field, text, end);
    if (!step || !CheckBounds(*start, *end, *step, field, text)) return;
    for (std::int64_t i = *start; i <= *end; i += *step) read.values.set(static_cast<std::size_t>(i));
    // A star with a step is a list of values.
    read.star |= star && *step == 1;
  }

  std::optional<std::int64_t> ReadStep(const std::vector<std::string>& parts, bool single, const Field& field,
                                       const std::string& text, std::optional<std::int64_t>& end) {
    if (parts.size() == 1) return 1;
    if (parts.size() > 2) return Fail("too many slashes: " + text);
    const std::optional<std::int64_t> step = ReadNumber(parts[1]);
    if (step && single) end = field.max;  // "N/step" means "N-max/step"
    return step;
  }

  bool CheckBounds(std::int64_t start, std::int64_t end, std::int64_t step, const Field& field,
                   const std::string& text) {
    const auto number = [](std::int64_t n) { return "(" + std::to_string(n) + ")"; };
    if (start < field.min) {
      Fail("beginning of range " + number(start) + " below minimum " + number(field.min) + ": " + text);
    } else if (end > field.max) {
      Fail("end of range " + number(end) + " above maximum " + number(field.max) + ": " + text);
    } else if (start > end) {
      Fail("beginning of range " + number(start) + " beyond end of range " + number(end) + ": " + text);
    } else if (step == 0) {
      Fail("step of range should be a positive number: " + text);
    } else {
      return true;
    }
    return false;
  }

  std::nullopt_t Fail(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
    return std::nullopt;
  }

  std::string problem_;
};

template <std::size_t N>
std::bitset<N> Narrowed(const std::bitset<60>& values) {
  return std::bitset<N>(values.to_ullong());
}

Result<CronFields> ParseFields(std::string_view schedule) {
  const std::vector<std::string> texts = SplitWords(schedule);
  if (texts.size() != Fields().size()) {
    return Unexpected(BadRequest("expected exactly 5 fields, found " + std::to_string(texts.size()) + ": " +
                                 GoList(texts)));
  }
  ScheduleParser parser;
  std::array<FieldValues, 5> read;
  for (std::size_t i = 0; i < texts.size(); ++i) read[i] = parser.ReadField(texts[i], Fields()[i]);
  if (!parser.problem().empty()) return Unexpected(BadRequest(parser.problem()));
  CronFields fields;
  fields.minutes = read[0].values;
  fields.hours = Narrowed<24>(read[1].values);
  fields.days = Narrowed<32>(read[2].values);
  fields.months = Narrowed<13>(read[3].values);
  fields.weekdays = Narrowed<7>(read[4].values);
  fields.any_day = read[2].star;
  fields.any_weekday = read[4].star;
  return fields;
}

Result<CronFields> ParseDescriptor(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kDescriptors = {
      {{"@yearly", "0 0 1 1 *"},
       {"@annually", "0 0 1 1 *"},
       {"@monthly", "0 0 1 * *"},
       {"@weekly", "0 0 * * 0"},
       {"@daily", "0 0 * * *"},
       {"@midnight", "0 0 * * *"},
       {"@hourly", "0 * * * *"}}};
  for (const auto& [name, meaning] : kDescriptors)
    if (text == name) return ParseFields(meaning);
  constexpr std::string_view kEvery = "@every ";
  if (!text.starts_with(kEvery))
    return Unexpected(BadRequest("unrecognized descriptor: " + std::string(text)));
  const Result<Duration> duration = ParseDuration(text.substr(kEvery.size()));
  if (!duration) {
    return Unexpected(
        BadRequest("failed to parse duration " + std::string(text) + ": " + duration.error().message()));
  }
  using std::chrono::seconds;
  CronFields fields;
  fields.every = std::max<Duration>(std::chrono::floor<seconds>(*duration), seconds(1));
  return fields;
}

}  // namespace

Result<CronFields> ParseCronSchedule(std::string_view schedule) {
  if (schedule.empty()) return Unexpected(BadRequest("empty spec string"));
  std::string zone;
  if (schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=")) {
    const std::size_t space = schedule.find(' ');
    const std::size_t rest = schedule.find_first_not_of(' ', space);
    const std::size_t equals = schedule.find('=');
    zone = schedule.substr(equals + 1, space == std::string_view::npos ? space : space - equals - 1);
    if (rest == std::string_view::npos || !IsTimeZone(zone))
      return Unexpected(BadRequest("provided bad location " + zone + ": unknown time zone " + zone));
    schedule = schedule.substr(rest);
  }
  auto fields = schedule.starts_with('@') ? ParseDescriptor(schedule) : ParseFields(schedule);
  if (fields) fields->zone = std::move(zone);
  return fields;
}

}  // namespace flyball::api
