#include <set>
#include <string>

#include "api/kinds/workloads/job_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxRules = 20;
constexpr std::size_t kMaxExitCodes = 255;
constexpr std::size_t kJobFailurePolicyMaxConditions = 20;

// Like RequireOneOf, but an absent value is told what it could be.
void RequireNamed(std::string_view value, std::initializer_list<std::string_view> supported,
                  const FieldPath& path, FieldErrors& errors) {
  if (!value.empty()) return CheckOneOf(value, supported, path, errors);
  std::string names;
  for (const auto name : supported) names += (names.empty() ? "\"" : " \"") + std::string(name) + '"';
  errors.Required(path, "valid values: [" + names + "]");
}

bool NamesContainer(const Value& pod_spec, std::string_view name) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const Value& container : Items(pod_spec[list])) {
      if (Text(container, "name") == name) return true;
    }
  }
  return false;
}

void ValidateExitCodes(const Value& codes, const Value& pod_spec, const FieldPath& path,
                       FieldErrors& errors) {
  const std::string_view op = Text(codes, "operator");
  RequireNamed(op, {"In", "NotIn"}, path.Child("operator"), errors);
  if (Has(codes, "containerName") && !NamesContainer(pod_spec, Text(codes, "containerName"))) {
    errors.Invalid(path.Child("containerName"), codes["containerName"],
                   "must be one of the container or initContainer names in the pod template");
  }
  const Value& values = codes["values"];
  const FieldPath list = path.Child("values");
  if (values.size() == 0) {
    errors.Invalid(list, values, "at least one value is required");
  } else if (values.size() > kMaxExitCodes) {
    errors.TooMany(list, values.size(), kMaxExitCodes);
  }
  std::set<std::int64_t> seen;
  std::int64_t previous = -1;
  bool ordered = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t code = values.as_array()[i].int_or(0);
    if (op == "In" && code == 0) errors.Invalid(list.Index(i), 0, "must not be 0 for the In operator");
    if (!seen.insert(code).second) {
      errors.Duplicate(list.Index(i), code);
    } else if (ordered && code < previous) {
      errors.Invalid(list, values, "must be ordered");
      ordered = false;
    }
    previous = code;
  }
}

void ValidateConditions(const Value& conditions, const FieldPath& path, FieldErrors& errors) {
  if (conditions.size() > kJobFailurePolicyMaxConditions)
    errors.TooMany(path, conditions.size(), kJobFailurePolicyMaxConditions);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.as_array()[i];
    CheckFormat("qualified-name", Text(condition, "type"), path.Index(i).Child("type"), errors);
    RequireNamed(Text(condition, "status"), {"False", "True", "Unknown"}, path.Index(i).Child("status"),
                 errors);
  }
}

void ValidateJobFailurePolicyRule(const Value& rule, const Value& spec, const FieldPath& path,
                                  FieldErrors& errors) {
  const std::string_view action = Text(rule, "action");
  RequireNamed(action, {"Count", "FailIndex", "FailJob", "Ignore"}, path.Child("action"), errors);
  if (action == "FailIndex" && !Has(spec, "backoffLimitPerIndex")) {
    errors.Invalid(path.Child("action"), action, "requires the backoffLimitPerIndex to be set");
  }
  const bool codes = Has(rule, "onExitCodes"), conditions = rule["onPodConditions"].size() > 0;
  if (codes)
    ValidateExitCodes(rule["onExitCodes"], spec["template"]["spec"], path.Child("onExitCodes"), errors);
  if (conditions) ValidateConditions(rule["onPodConditions"], path.Child("onPodConditions"), errors);
  if (codes && conditions) {
    errors.InvalidOmitted(path, "specifying both OnExitCodes and OnPodConditions is not supported");
  }
  if (!codes && !conditions) {
    errors.InvalidOmitted(path, "specifying one of OnExitCodes and OnPodConditions is required");
  }
}

}  // namespace

void ValidatePodFailurePolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& rules = spec["podFailurePolicy"]["rules"];
  const FieldPath list = path.Child("rules");
  if (rules.size() > kMaxRules) errors.TooMany(list, rules.size(), kMaxRules);
  for (std::size_t i = 0; i < rules.size(); ++i)
    ValidateJobFailurePolicyRule(rules.as_array()[i], spec, list.Index(i), errors);
}

}  // namespace flyball::api
