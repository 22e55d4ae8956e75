// When a Job counts as done before all its pods are: which indexes, or how many of them, must have succeeded.
#include <charconv>
#include <optional>
#include <string>

#include "api/kinds/workloads/job_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/values/go_text.h"
#include "base/values/result.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxSuccessRules = 20;
constexpr std::size_t kMaxSucceededIndexes = 64 * 1024;

Result<std::int64_t> IndexOf(std::string_view text, std::int64_t completions) {
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return Unexpected(BadRequest("cannot convert string to integer for index: " + GoQuote(text)));
  if (index >= completions) return Unexpected(BadRequest("too large index: " + GoQuote(text)));
  return index;
}

Error NotIncreasing(std::int64_t previous, std::int64_t current) {
  return BadRequest("non-increasing order, previous: " + std::to_string(previous) +
                    ", current: " + std::to_string(current));
}

struct IndexRange {
  std::int64_t first = 0, last = 0;
};

// "3" or "1-3".
Result<IndexRange> ParseRange(std::string_view text, std::int64_t completions) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos && text.find('-', dash + 1) != std::string_view::npos)
    return Unexpected(BadRequest("the fragment " + GoQuote(text) +
                                 " violates the requirement that an index interval can have at most two "
                                 "parts separated by '-'"));
  FLYBALL_ASSIGN(const std::int64_t first, IndexOf(text.substr(0, dash), completions));
  if (dash == std::string_view::npos) return IndexRange{first, first};
  FLYBALL_ASSIGN(const std::int64_t last, IndexOf(text.substr(dash + 1), completions));
  if (first >= last) return Unexpected(NotIncreasing(first, last));
  return IndexRange{first, last};
}

// How many indexes "1,3-5" names.
Result<std::int64_t> CountIndexes(std::string_view text, std::int64_t completions) {
  std::int64_t count = 0;
  std::optional<std::int64_t> previous;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    FLYBALL_ASSIGN(const IndexRange range, ParseRange(text.substr(0, comma), completions));
    if (previous && *previous >= range.first) return Unexpected(NotIncreasing(*previous, range.first));
    previous = range.last;
    count += range.last - range.first + 1;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return Unexpected(IndexOf("", completions).error());
  }
  return count;
}

// 0 if there are none, or if they are malformed, which is an error.
std::int64_t ValidateIndexes(const Value& indexes, std::int64_t completions, const FieldPath& path,
                             FieldErrors& errors) {
  if (indexes.is_null()) return 0;
  const std::string_view text = indexes.string_or({});
  if (text.size() > kMaxSucceededIndexes) errors.TooLong(path, kMaxSucceededIndexes);
  const auto count = CountIndexes(text, completions);
  if (count) return *count;
  errors.Invalid(path, text, "error parsing succeededIndexes: " + count.error().message());
  return 0;
}

void ValidateSuccessRule(const Value& rule, std::int64_t completions, const FieldPath& path,
                         FieldErrors& errors) {
  const Value& count = rule["succeededCount"];
  const Value& indexes = rule["succeededIndexes"];
  if (count.is_null() && indexes.is_null())
    errors.Required(path, "at least one of succeededCount or succeededIndexes must be specified");
  const std::int64_t named = ValidateIndexes(indexes, completions, path.Child("succeededIndexes"), errors);
  if (count.is_null()) return;
  const FieldPath here = path.Child("succeededCount");
  CheckNotNegative(count, here, errors);
  if (count.int_or(0) > completions)
    errors.Invalid(here, count,
                   "must be less than or equal to " + std::to_string(completions) +
                       " (the number of specified completions)");
  if (!indexes.is_null() && count.int_or(0) > named)
    errors.Invalid(here, count,
                   "must be less than or equal to " + std::to_string(named) +
                       " (the number of indexes in the specified succeededIndexes field)");
}

}  // namespace

void ValidateSuccessPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const json::Array& rules = Items(spec["successPolicy"]["rules"]);
  const FieldPath list = path.Child("rules");
  if (rules.empty())
    errors.Required(list, "at least one rules must be specified when the successPolicy is specified");
  if (rules.size() > kMaxSuccessRules) errors.TooMany(list, rules.size(), kMaxSuccessRules);
  for (std::size_t i = 0; i < rules.size(); ++i)
    ValidateSuccessRule(rules[i], Number(spec, "completions"), list.Index(i), errors);
}

}  // namespace flyball::api
