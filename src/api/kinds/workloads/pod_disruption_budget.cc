#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidatePodDisruptionBudget(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  if (Has(spec, "minAvailable") && Has(spec, "maxUnavailable")) {
    const Value shown = json::Object{{"MinAvailable", spec["minAvailable"]},
                                     {"Selector", spec["selector"]},
                                     {"MaxUnavailable", spec["maxUnavailable"]},
                                     {"UnhealthyPodEvictionPolicy", spec["unhealthyPodEvictionPolicy"]}};
    errors.Invalid(path, shown, "minAvailable and maxUnavailable cannot be both set");
  }
  for (const char* field : {"minAvailable", "maxUnavailable"}) {
    if (!Has(spec, field)) continue;
    CheckIntOrPercent(spec[field], path.Child(field), errors);
    CheckAtMost100Percent(spec[field], path.Child(field), errors);
  }
  ValidateLabelSelector(spec["selector"], path.Child("selector"), errors);
  if (Has(spec, "unhealthyPodEvictionPolicy")) {
    CheckOneOf(Text(spec, "unhealthyPodEvictionPolicy"), {"AlwaysAllow", "IfHealthyBudget"},
               path.Child("unhealthyPodEvictionPolicy"), errors);
  }
}

void ValidatePodDisruptionBudgetStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  CheckNotNegative(object["status"],
                   {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"},
                   FieldPath("status"), errors);
}

}  // namespace

const KindHooks kPodDisruptionBudgetHooks = {
    .group = "policy",
    .kind = "PodDisruptionBudget",
    .validate = ValidatePodDisruptionBudget,
    .validate_status_update = ValidatePodDisruptionBudgetStatusUpdate,
    .metadata_last = true,
    .generation = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
