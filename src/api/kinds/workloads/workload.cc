#include "api/kinds/workloads/workload.h"

#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"
#include "api/values/int_or_string.h"

namespace flyball::api {

using json::Value;

bool ValidateSelector(const Value& selector, std::string_view noun, const FieldPath& path,
                      FieldErrors& errors) {
  if (selector.is_null()) {
    errors.Required(path);
    return true;
  }
  ValidateLabelSelector(selector, path, errors);
  if (IsEmptySelector(selector)) {
    errors.Invalid(path, selector, "empty selector is invalid for " + std::string(noun));
  }
  return IsUsableSelector(selector);
}

void CheckTemplateLabels(const Value& selector, const Value& pod_template, const FieldPath& path,
                         FieldErrors& errors) {
  if (!selector.is_null() && IsEmptySelector(selector)) return;
  const Value& labels = pod_template["metadata"]["labels"];
  if (!selector.is_null() && SelectorMatches(selector, labels)) return;
  errors.Invalid(path.Child("metadata").Child("labels"), labels,
                 "`selector` does not match template `labels`");
}

void ValidateLongRunningTemplate(const Value& pod_template, std::string_view kind, const FieldPath& path,
                                 FieldErrors& errors) {
  const Value& spec = pod_template["spec"];
  CheckOneOf(Text(spec, "restartPolicy"), {"Always"}, path.Child("spec").Child("restartPolicy"), errors);
  if (Has(spec, "activeDeadlineSeconds")) {
    errors.Forbidden(path.Child("spec").Child("activeDeadlineSeconds"),
                     "activeDeadlineSeconds in " + std::string(kind) + " is not Supported");
  }
}

void ValidateReplicaStatus(const Value& status, std::initializer_list<std::string_view> counts,
                           const FieldPath& path, FieldErrors& errors) {
  CheckNotNegative(status, {"replicas"}, path, errors);
  for (const std::string_view count : counts) CheckNotNegative(status[count], path.Child(count), errors);
  const std::int64_t replicas = Number(status, "replicas");
  for (const std::string_view count : counts) {
    const bool bounded = count == "fullyLabeledReplicas" || count == "readyReplicas" ||
                         count == "availableReplicas" || count == "updatedReplicas" ||
                         count == "currentReplicas";
    if (bounded && Number(status, count) > replicas) {
      errors.Invalid(path.Child(count), Number(status, count), "cannot be greater than status.replicas");
    }
  }
  if (Number(status, "availableReplicas") > Number(status, "readyReplicas")) {
    errors.Invalid(path.Child("availableReplicas"), Number(status, "availableReplicas"),
                   "cannot be greater than readyReplicas");
  }
}

void CheckCollisionCount(const Value& status, const Value& old, const FieldPath& path, FieldErrors& errors) {
  const Value& count = status["collisionCount"];
  const Value& before = old["collisionCount"];
  if (before.is_null() || (!count.is_null() && count.int_or(0) >= before.int_or(0))) return;
  errors.Invalid(path.Child("collisionCount"), count.int_or(0), "cannot be decremented");
}

std::int64_t IntOrPercentNumber(const Value& value) {
  std::int64_t percent = 0;
  if (value.is_string()) return ParsePercent(value.as_string(), percent) ? percent : 0;
  return value.int_or(0);
}

}  // namespace flyball::api
