// Which policies a request is subject to: policy, binding and param of each evaluation (upstream:
// policy/generic/policy_dispatcher.go, CollectParams).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/executor.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/admission/match/admission_attributes.h"
#include "server/admission/policy/policy_source.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// The params that a binding of a policy means, as objects of the paramKind: one null if there are none to be
// had, none at all if they are missing and that is allowed. Errors have upstream's messages; their codes mean
// nothing.
Task<Result<std::vector<json::Value>>> CollectParams(const Catalog& catalog, const CompiledPolicy& policy,
                                                     const json::Value& param_ref,
                                                     std::string_view namespace_name, Executor& executor);

struct PolicyInvocation {
  const CompiledPolicy* policy;
  const PolicyBinding* binding;
  const ServedResource* matched;  // the version in which the policy matched
  json::Value param;              // null: none
};

// A policy that cannot be evaluated as it is configured.
struct PolicyMisconfiguration {
  const CompiledPolicy* policy;
  const PolicyBinding* binding;  // null: the policy itself is
  std::string message;           // "failed to configure binding: ..."
};

struct PolicyInvocations {
  std::vector<PolicyInvocation> invocations;
  std::vector<PolicyMisconfiguration> misconfigured;  // also of policies that ignore failures
};

// `hooks` and `attributes` must outlive the result.
Task<PolicyInvocations> FindInvocations(const PolicyHooks& hooks, AdmissionAttributes& attributes,
                                        const Catalog& catalog);

// Whether no policy sees requests for the resource.
inline bool IsExemptFromPolicies(const ServedResource& resource) {
  return resource.kind->group.starts_with('a') &&
         (IsExcludedReview(resource) || (IsAdmissionConfiguration(resource) &&
                                         resource.kind->kind.find("Policy") != std::string_view::npos));
}

}  // namespace flyball::server
