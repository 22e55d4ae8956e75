// The metrics of admission policies, by upstream's names: apiserver_validating_admission_policy_check_total
// and ..._check_duration_seconds, and the same of mutating ones. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/observe/metrics.h"

namespace flyball::server {

// "no_error", "compile_error", "out_of_budget" or "invalid_error", from an evaluation's message.
std::string_view PolicyErrorType(bool failed, std::string_view message);

class PolicyMetrics {
 public:
  enum class Kind { kValidating, kMutating };
  PolicyMetrics(Metrics& metrics, Kind kind) : metrics_(metrics), kind_(kind) {}

  // `action`: "allow", "deny", "audit" or "warn"; mutating policies have none.
  void Observe(const std::string& policy, const std::string& binding, std::string_view error_type,
               std::string_view action, double seconds) const;

 private:
  Metrics& metrics_;
  const Kind kind_;
};

}  // namespace flyball::server
