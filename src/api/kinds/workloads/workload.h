// What the workload kinds (Deployment, ReplicaSet, DaemonSet, StatefulSet, Job, ReplicationController) share.
#pragma once

#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// spec.selector: required, well-formed, not empty ("empty selector is invalid for <noun>"). True if it can be
// used.
bool ValidateSelector(const json::Value& selector, std::string_view noun, const FieldPath& path,
                      FieldErrors& errors);
// "`selector` does not match template `labels`".
void CheckTemplateLabels(const json::Value& selector, const json::Value& pod_template, const FieldPath& path,
                         FieldErrors& errors);
// A template whose pods run for ever: restart policy Always, no deadline.
void ValidateLongRunningTemplate(const json::Value& pod_template, std::string_view kind,
                                 const FieldPath& path, FieldErrors& errors);

// Counts in a status: not negative, and none above `replicas`.
void ValidateReplicaStatus(const json::Value& status, std::initializer_list<std::string_view> counts,
                           const FieldPath& path, FieldErrors& errors);
// status.collisionCount may only grow.
void CheckCollisionCount(const json::Value& status, const json::Value& old, const FieldPath& path,
                         FieldErrors& errors);

// The number in "25%" or 25; 0 for everything else.
std::int64_t IntOrPercentNumber(const json::Value& value);

}  // namespace flyball::api
