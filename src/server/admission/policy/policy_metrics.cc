#include "server/admission/policy/policy_metrics.h"

namespace flyball::server {

std::string_view PolicyErrorType(bool failed, std::string_view message) {
  if (!failed) return "no_error";
  if (message.starts_with("compilation")) return "compile_error";
  if (message.starts_with("validation failed due to running out of cost budget")) return "out_of_budget";
  return "invalid_error";
}

void PolicyMetrics::Observe(const std::string& policy, const std::string& binding,
                            std::string_view error_type, std::string_view action, double seconds) const {
  const bool validating = kind_ == Kind::kValidating;
  MetricLabels labels{
      {"policy", policy}, {"policy_binding", binding}, {"error_type", std::string(error_type)}};
  if (validating) labels["enforcement_action"] = action;
  const std::string prefix =
      validating ? "apiserver_validating_admission_policy_" : "apiserver_mutating_admission_policy_";
  metrics_
      .GetCounter(prefix + "check_total",
                  validating ? "Validation admission policy check total, labeled by policy and further "
                               "identified by binding and enforcement action taken."
                             : "Mutation admission policy check total, labeled by policy and further "
                               "identified by binding.",
                  labels)
      .Add();
  metrics_
      .GetHistogram(prefix + "check_duration_seconds",
                    validating ? "Validation admission latency for individual validation expressions in "
                                 "seconds, labeled by policy and further including binding and enforcement "
                                 "action taken."
                               : "Mutation admission latency for individual mutation expressions in seconds, "
                                 "labeled by policy and binding.",
                    {0.0000005, 0.001, 0.01, 0.1, 1.0}, labels)
      .Observe(seconds);
}

}  // namespace flyball::server
