// matchLabelKeys and mismatchLabelKeys: labels whose value a pod takes from itself.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// In a pod affinity term.
void ValidateAffinityLabelKeys(const json::Value& term, const FieldPath& path, FieldErrors& errors);
// In a topology spread constraint.
void ValidateSpreadLabelKeys(const json::Value& constraint, const FieldPath& path, FieldErrors& errors);

}  // namespace flyball::api
