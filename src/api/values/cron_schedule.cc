#include "api/values/cron_schedule.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
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

// Collects the first problem met; every Read returns nothing after one.
class ScheduleParser {
 public:
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
  void ReadRange(const std::string& text, const Field& field) {
    const std::vector<std::string> range_and_step = SplitText(text, '/');
    const std::vector<std::string> low_and_high = SplitText(range_and_step[0], '-');
    std::optional<std::int64_t> start, end;
    if (low_and_high[0] == "*" || low_and_high[0] == "?") {
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
    if (!step) return;
    CheckBounds(*start, *end, *step, field, text);
  }

  const std::string& problem() const { return problem_; }

 private:
  std::optional<std::int64_t> ReadStep(const std::vector<std::string>& parts, bool single, const Field& field,
                                       const std::string& text, std::optional<std::int64_t>& end) {
    if (parts.size() == 1) return 1;
    if (parts.size() > 2) return Fail("too many slashes: " + text);
    const std::optional<std::int64_t> step = ReadNumber(parts[1]);
    if (step && single) end = field.max;  // "N/step" means "N-max/step"
    return step;
  }

  void CheckBounds(std::int64_t start, std::int64_t end, std::int64_t step, const Field& field,
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
    }
  }

  std::nullopt_t Fail(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
    return std::nullopt;
  }

  std::string problem_;
};

std::string DescriptorProblem(std::string_view text) {
  constexpr std::array<std::string_view, 7> kKnown = {"@yearly", "@annually", "@monthly", "@weekly",
                                                      "@daily",  "@midnight", "@hourly"};
  if (std::find(kKnown.begin(), kKnown.end(), text) != kKnown.end()) return {};
  constexpr std::string_view kEvery = "@every ";
  if (!text.starts_with(kEvery)) return "unrecognized descriptor: " + std::string(text);
  const Result<Duration> duration = ParseDuration(text.substr(kEvery.size()));
  if (duration) return {};
  return "failed to parse duration " + std::string(text) + ": " + duration.error().message();
}

}  // namespace

std::string CronScheduleProblem(std::string_view schedule) {
  if (schedule.empty()) return "empty spec string";
  if (schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=")) {
    const std::size_t space = schedule.find(' ');
    if (space == std::string_view::npos)
      return "provided bad location " + std::string(schedule) + ": unknown time zone";
    schedule = schedule.substr(schedule.find_first_not_of(' ', space));
  }
  if (schedule.starts_with('@')) return DescriptorProblem(schedule);
  const std::vector<std::string> fields = SplitWords(schedule);
  if (fields.size() != Fields().size()) {
    return "expected exactly 5 fields, found " + std::to_string(fields.size()) + ": " + GoList(fields);
  }
  ScheduleParser parser;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string& range : SplitWords(fields[i], ",")) parser.ReadRange(range, Fields()[i]);
  }
  return parser.problem();
}

}  // namespace flyball::api
