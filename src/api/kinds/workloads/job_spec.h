// The spec of a Job, in a Job and in a CronJob's template.
#pragma once

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Everything but the selector.
void ValidateJobSpec(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// job_failure_policy.cc
void ValidatePodFailurePolicy(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// job_success_policy.cc
void ValidateSuccessPolicy(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// job_status.cc. Of the Job as a whole.
void ValidateJobStatusUpdate(const json::Value& object, const json::Value& old, FieldErrors& errors);

}  // namespace flyball::api
