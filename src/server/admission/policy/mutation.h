// What the expression of a mutation makes of an object (upstream: policy/mutating/patch). Functions only;
// thread-safe.
#pragma once

#include <string>

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "cel/policy/policy_evaluation.h"
#include "json/value.h"
#include "server/admission/policy/policy_source.h"

namespace flyball::server {

// The object after the mutation, not decoded or defaulted. `type` is what it is. Errors have upstream's
// messages and no reason: the policy's failurePolicy decides what they mean.
Result<json::Value> Mutate(const CompiledPolicy::Mutation& mutation,
                           const std::vector<cel::PolicyVariableExpression>& variables,
                           const cel::PolicyInputs& inputs, const api::TypeInfo& type,
                           const json::Value& object);

// ".spec.template.spec.tolerations, .data": the parts of an apply configuration that can only be replaced as
// a whole; empty if there are none. An apply configuration may not have them.
std::string FindAtomicParts(const api::TypeInfo& type, const json::Value& configuration);

}  // namespace flyball::server
