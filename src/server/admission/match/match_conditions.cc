#include "server/admission/match/match_conditions.h"

#include <algorithm>

namespace flyball::server {
namespace {

// Several errors as upstream's aggregates write them: each once, in brackets.
std::string JoinErrors(const std::vector<std::string>& errors) {
  std::vector<std::string> unique;
  for (const auto& error : errors)
    if (std::find(unique.begin(), unique.end(), error) == unique.end()) unique.push_back(error);
  if (unique.size() == 1) return unique[0];
  std::string out = "[";
  for (std::size_t i = 0; i < unique.size(); ++i) out += (i ? ", " : "") + unique[i];
  return out + "]";
}

MatchVerdict Failed(FailurePolicy policy, const std::vector<std::string>& errors) {
  MatchVerdict verdict{.matches = false, .errors = static_cast<int>(errors.size())};
  if (policy == FailurePolicy::kFail) verdict.error = JoinErrors(errors);
  return verdict;
}

}  // namespace

FailurePolicy FailurePolicyOf(const json::Value& text) {
  return text.string_or("") == "Ignore" ? FailurePolicy::kIgnore : FailurePolicy::kFail;
}

MatchConditions MatchConditions::OfWebhook(const json::Value& conditions) {
  cel::PolicyCompiler compiler(cel::PolicyCompiler::Composition::kNone);
  return MatchConditions(conditions, compiler, {.authorizer = true});
}

MatchConditions::MatchConditions(const json::Value& conditions, cel::PolicyCompiler& compiler,
                                 const cel::PolicyCompileOptions& options) {
  if (!conditions.is_array()) return;
  cel::PolicyCompileOptions wanted = options;
  wanted.wanted = {"bool"};
  for (const json::Value& condition : conditions.as_array())
    conditions_.push_back({std::string(condition["name"].string_or("")),
                           compiler.Compile(condition["expression"].string_or(""), wanted)});
}

MatchVerdict MatchConditions::Evaluate(const cel::PolicyInputs& inputs,
                                       std::span<const cel::PolicyVariableExpression> variables,
                                       FailurePolicy failure_policy) const {
  cel::PolicyEvaluation evaluation(inputs, variables, cel::kMatchConditionsCostBudget);
  std::vector<std::string> errors;
  const Condition* refused = nullptr;
  for (const Condition& condition : conditions_) {
    const cel::PolicyResult result = evaluation.Evaluate(condition.expression);
    if (result.kind == cel::PolicyResult::Kind::kExhausted) return Failed(failure_policy, {result.error});
    if (refused) continue;
    if (!result.ok()) errors.push_back(result.error);
    if (result.value.IsFalse()) refused = &condition;
  }
  if (refused)
    return {.matches = false,
            .failed_condition = refused->name,
            .error = std::nullopt,
            .errors = static_cast<int>(errors.size())};
  return errors.empty() ? MatchVerdict{} : Failed(failure_policy, errors);
}

Task<MatchVerdict> EvaluateMatchConditions(const MatchConditions& conditions, AdmissionAttributes& attributes,
                                           const ServedResource& matched, RequestAuthorizer& authorizer,
                                           FailurePolicy failure_policy) {
  const auto objects = attributes.In(matched);
  const json::Value request = attributes.RequestValue(attributes.resource(), matched);
  const cel::PolicyInputs inputs{.object = objects.object,
                                 .old_object = objects.old_object,
                                 .request = &request,
                                 .authorizer = &authorizer,
                                 .request_resource = attributes.RequestResource()};
  for (;;) {
    MatchVerdict verdict = conditions.Evaluate(inputs, {}, failure_policy);
    if (!authorizer.HasQuestions()) co_return verdict;
    co_await authorizer.Ask();
  }
}

MetricLabels MatchConditionMetrics::Labels(const std::string& name, std::string_view operation) const {
  return {{"name", name}, {"kind", kind_}, {"type", type_}, {"operation", std::string(operation)}};
}

void MatchConditionMetrics::Observe(const std::string& name, std::string_view operation, double seconds,
                                    const MatchVerdict& verdict) const {
  const auto labels = Labels(name, operation);
  metrics_
      .GetHistogram("apiserver_admission_match_condition_evaluation_seconds",
                    "Admission match condition evaluation time in seconds, identified by name and broken out "
                    "for each kind containing matchConditions (webhook or policy), operation and type "
                    "(validate or admit).",
                    {0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, labels)
      .Observe(seconds);
  if (verdict.errors > 0)
    metrics_
        .GetCounter("apiserver_admission_match_condition_evaluation_errors_total",
                    "Admission match condition evaluation errors count, identified by name of resource "
                    "containing the match condition and broken out for each kind containing matchConditions "
                    "(webhook or policy), operation and admission type (validate or admit).",
                    labels)
        .Add(verdict.errors);
}

void MatchConditionMetrics::ObserveExclusion(const std::string& name, std::string_view operation) const {
  metrics_
      .GetCounter("apiserver_admission_match_condition_exclusions_total",
                  "Admission match condition evaluation exclusions count, identified by name of resource "
                  "containing the match condition and broken out for each kind containing matchConditions "
                  "(webhook or policy), operation and admission type (validate or admit).",
                  Labels(name, operation))
      .Add();
}

}  // namespace flyball::server
