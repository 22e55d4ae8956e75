// MatchConditions: the expressions of a webhook or a policy that all must be true of a request (upstream:
// webhook/matchconditions). Compiled once; immutable afterwards and thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/task.h"
#include "cel/policy/policy_compiler.h"
#include "cel/policy/policy_evaluation.h"
#include "json/value.h"
#include "server/admission/match/admission_attributes.h"
#include "server/admission/match/request_authorizer.h"

namespace flyball::server {

enum class FailurePolicy : std::uint8_t { kFail, kIgnore };
// Fail unless the text is "Ignore".
FailurePolicy FailurePolicyOf(const json::Value& text);

struct MatchVerdict {
  bool matches = true;
  std::string failed_condition;      // the name of one that is false
  std::optional<std::string> error;  // why it cannot be said, if that is a failure: the request is refused
  int errors = 0;                    // conditions that could not be evaluated, whatever became of it
};

class MatchConditions {
 public:
  MatchConditions() = default;
  // Of an entry of webhooks: its matchConditions.
  static MatchConditions OfWebhook(const json::Value& conditions);
  // Of a policy, with its variables.
  MatchConditions(const json::Value& conditions, cel::PolicyCompiler& compiler,
                  const cel::PolicyCompileOptions& options);

  bool empty() const { return conditions_.empty(); }
  // A condition that is false decides; otherwise one that cannot be evaluated is a failure, or a mismatch if
  // those are ignored. `variables` and what `inputs` refers to must live until it returns.
  MatchVerdict Evaluate(const cel::PolicyInputs& inputs,
                        std::span<const cel::PolicyVariableExpression> variables,
                        FailurePolicy failure_policy) const;

 private:
  struct Condition {
    std::string name;
    cel::PolicyExpression expression;
  };
  std::vector<Condition> conditions_;
};

// A webhook's conditions for a request that its rules matched in the version `matched`. All must live until
// it returns. An error of the verdict refuses the request as Forbidden (AdmissionForbidden).
Task<MatchVerdict> EvaluateMatchConditions(const MatchConditions& conditions, AdmissionAttributes& attributes,
                                           const ServedResource& matched, RequestAuthorizer& authorizer,
                                           FailurePolicy failure_policy);

// The metrics of match conditions, by upstream's names. Thread-safe.
class MatchConditionMetrics {
 public:
  // kind: "webhook" or "policy"; type: "admit" or "validate".
  MatchConditionMetrics(Metrics& metrics, std::string kind, std::string type)
      : metrics_(metrics), kind_(std::move(kind)), type_(std::move(type)) {}
  // `name` of the webhook or policy.
  void Observe(const std::string& name, std::string_view operation, double seconds,
               const MatchVerdict& verdict) const;
  void ObserveExclusion(const std::string& name, std::string_view operation) const;

 private:
  MetricLabels Labels(const std::string& name, std::string_view operation) const;

  Metrics& metrics_;
  const std::string kind_, type_;
};

}  // namespace flyball::server
