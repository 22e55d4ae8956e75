// What a ValidatingAdmissionPolicy says of a request (upstream: policy/validating/validator.go). Pure
// functions of the inputs; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/run/clock.h"
#include "cel/policy/policy_evaluation.h"
#include "server/admission/policy/policy_source.h"

namespace flyball::server {

struct PolicyDecision {
  bool denies = false;
  bool failed = false;  // it could not be evaluated
  std::string message;
  std::string reason;  // of a Status; "" if it was not the expression that denied
  double seconds = 0;
};

struct PolicyAnnotation {
  std::string key, value;  // without a value it is not published
  std::string error;       // denies the request
};

struct PolicyVerdict {
  std::vector<PolicyDecision> decisions;  // one per validation, or one for all
  std::vector<PolicyAnnotation> annotations;
};

// The values of variables. Match conditions do not see the namespace, and `request` as it was made.
struct PolicyEvaluationInputs {
  cel::PolicyInputs conditions, expressions;
};

// `match` is what became of the match conditions; nothing is evaluated unless they hold.
PolicyVerdict EvaluatePolicy(const CompiledPolicy& policy, const PolicyEvaluationInputs& inputs,
                             const Clock& clock, MatchVerdict* match);

}  // namespace flyball::server
