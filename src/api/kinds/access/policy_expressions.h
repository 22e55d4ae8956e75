// The expressions of admission policies: variables, validations, audit annotations and mutations (upstream:
// admissionregistration/validation). Functions only; thread-safe.
#pragma once

#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

struct PolicySpec {
  std::string_view name;  // of the policy
  const json::Value& spec;
  const json::Value* old;  // the stored spec; null for a new policy
  const FieldPath& path;
};

// What a ValidatingAdmissionPolicy has besides its scope and match conditions.
void ValidateValidations(const PolicySpec& policy, FieldErrors& errors);
// The same of a MutatingAdmissionPolicy.
void ValidateMutations(const PolicySpec& policy, FieldErrors& errors);
// An update of a ValidatingAdmissionPolicy's status.
void ValidatePolicyStatus(const json::Value& object, const json::Value& old, FieldErrors& errors);

}  // namespace flyball::api
