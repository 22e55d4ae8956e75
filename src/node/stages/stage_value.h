// StageExpression: what a Stage computes of an object: a query in jq's language, or a CEL expression of
// `self`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/jq/jq_query.h"
#include "base/run/clock.h"
#include "base/values/result.h"
#include "cel/expression.h"
#include "json/value.h"

namespace flyball::node {

// Immutable; thread-safe; a small value.
class StageExpression {
 public:
  static Result<StageExpression> Jq(const std::string& text);
  static Result<StageExpression> Cel(const std::string& text);
  // KWOK's ExpressionFrom: {expressionFrom} or {jq: {expression}} or {cel: {expression}}.
  static Result<StageExpression> From(const json::Value& from);

  // Its result is true. False also if it is none, or fails.
  bool IsTrue(const json::Value& object) const;
  // The results that are not null; nothing if the query fails (of jq only).
  std::optional<std::vector<json::Value>> Query(const json::Value& object) const;

  // A number, or the text of one. `otherwise` if there is no result that means one; nothing if it is an empty
  // or wrong text.
  std::optional<std::int64_t> Whole(const json::Value& object, std::optional<std::int64_t> otherwise) const;
  // A duration, or how long it is until a moment. `otherwise` if there is no result that means one; nothing
  // if it is an empty text.
  std::optional<Duration> Delay(const json::Value& object, TimePoint now,
                                std::optional<Duration> otherwise) const;

 private:
  std::optional<api::JqQuery> query_;
  std::shared_ptr<const cel::Expression> cel_;
};

}  // namespace flyball::node
