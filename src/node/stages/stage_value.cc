#include "node/stages/stage_value.h"

#include <charconv>

#include "api/values/duration.h"
#include "api/values/time.h"
#include "cel/values/arena.h"

namespace flyball::node {
namespace {

// Calls fn with the value of the expression, which lives as long as that.
template <typename Fn>
void WithCelValue(const cel::Expression& expression, const json::Value& object, Fn fn) {
  cel::Arena arena;
  cel::FixedActivation activation;
  activation.Set(0, cel::FromJson(arena, object, nullptr));
  fn(expression.program().Evaluate(activation, arena).value);
}

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Duration> ParseDelay(std::string_view text, TimePoint now) {
  if (const auto moment = api::ParseTime(text)) return moment->ToTimePoint() - now;
  if (const auto duration = api::ParseDuration(text)) return *duration;
  return std::nullopt;
}

}  // namespace

Result<StageExpression> StageExpression::Jq(const std::string& text) {
  StageExpression expression;
  auto query = api::JqQuery::Parse(text);
  if (!query) return Unexpected(BadRequest("jq \"" + text + "\": " + query.error().message()));
  expression.query_ = std::move(*query);
  return expression;
}

Result<StageExpression> StageExpression::Cel(const std::string& text) {
  auto compiled = cel::Compile(
      text, {.environment = &cel::Environment::Stored(), .variables = {{"self", &cel::types::kDyn}}});
  if (!compiled.expression)
    return Unexpected(BadRequest("cel \"" + text + "\": failed to compile expression: " + compiled.error));
  StageExpression expression;
  expression.cel_ = std::move(compiled.expression);
  return expression;
}

Result<StageExpression> StageExpression::From(const json::Value& from) {
  if (from["cel"].is_object()) return Cel(std::string(from["cel"]["expression"].string_or("")));
  if (from["jq"].is_object()) return Jq(std::string(from["jq"]["expression"].string_or("")));
  return Jq(std::string(from["expressionFrom"].string_or("")));
}

bool StageExpression::IsTrue(const json::Value& object) const {
  if (query_) {
    const auto results = Query(object);
    return results && !results->empty() && results->front().bool_or(false);
  }
  bool is_true = false;
  WithCelValue(*cel_, object, [&](const cel::Value& value) { is_true = value.IsTrue(); });
  return is_true;
}

std::optional<std::vector<json::Value>> StageExpression::Query(const json::Value& object) const {
  if (!query_) return std::nullopt;
  auto results = query_->Run(object);
  if (!results) return std::nullopt;
  std::erase_if(*results, [](const json::Value& value) { return value.is_null(); });
  return std::move(*results);
}

std::optional<std::int64_t> StageExpression::Whole(const json::Value& object,
                                                   std::optional<std::int64_t> otherwise) const {
  if (cel_) {
    std::optional<std::int64_t> whole;
    WithCelValue(*cel_, object, [&](const cel::Value& value) {
      if (value.Is(cel::ValueKind::kInt) || value.Is(cel::ValueKind::kUint) ||
          value.Is(cel::ValueKind::kBool))
        whole = value.as_int();
      if (value.Is(cel::ValueKind::kDouble)) whole = static_cast<std::int64_t>(value.as_double());
    });
    return whole;
  }
  const auto results = Query(object);
  if (!results || results->empty()) return otherwise;
  const json::Value& first = results->front();
  if (first.is_string()) return ParseWhole(first.as_string());
  return first.is_number() ? static_cast<std::int64_t>(first.as_double()) : otherwise;
}

std::optional<Duration> StageExpression::Delay(const json::Value& object, TimePoint now,
                                               std::optional<Duration> otherwise) const {
  if (cel_) {
    std::optional<Duration> delay;
    WithCelValue(*cel_, object, [&](const cel::Value& value) {
      if (value.Is(cel::ValueKind::kDuration) || value.Is(cel::ValueKind::kInt))
        delay = Duration(value.as_int());
      if (value.Is(cel::ValueKind::kString)) delay = ParseDelay(value.text(), now);
      if (value.Is(cel::ValueKind::kTimestamp))
        delay = api::Time{value.as_int(), static_cast<std::int32_t>(value.nanoseconds())}.ToTimePoint() - now;
    });
    return delay;
  }
  const auto results = Query(object);
  if (!results || results->empty() || !results->front().is_string()) return otherwise;
  const std::string_view text = results->front().as_string();
  if (text.empty()) return std::nullopt;
  const auto delay = ParseDelay(text, now);
  return delay ? delay : otherwise;
}

}  // namespace flyball::node
