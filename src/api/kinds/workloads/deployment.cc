#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/workloads/workload.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void SetDeploymentDefaults(Value& object) {
  SetTemplateDefaults(object);
  Value* strategy = object.FindPath({"spec", "strategy"});
  if (strategy == nullptr || Text(*strategy, "type") != "RollingUpdate") return;
  SetIfAbsent(*strategy, "rollingUpdate", json::Object{});
  Value& rolling = (*strategy)["rollingUpdate"];
  SetIfAbsent(rolling, "maxUnavailable", "25%");
  SetIfAbsent(rolling, "maxSurge", "25%");
}

// Annotations of a deployment are copied to its replica sets: changing them is a change.
void PrepareDeploymentForUpdate(Value& object, const Value& old) {
  const Value& metadata = object["metadata"];
  const Value& before = old["metadata"];
  if (metadata["annotations"] == before["annotations"]) return;
  object["metadata"]["generation"] = Number(before, "generation") + 1;
}

void PrepareDeploymentForStatusUpdate(Value& object, const Value& old) {
  Value& metadata = object["metadata"];
  if (Has(old["metadata"], "labels")) {
    metadata["labels"] = old["metadata"]["labels"];
  } else {
    metadata.as_object().Erase("labels");
  }
}

void ValidateDeploymentRollingUpdate(const Value& rolling, const FieldPath& path, FieldErrors& errors) {
  const Value& unavailable = rolling["maxUnavailable"];
  const Value& surge = rolling["maxSurge"];
  CheckIntOrPercent(unavailable, path.Child("maxUnavailable"), errors);
  CheckIntOrPercent(surge, path.Child("maxSurge"), errors);
  if (IntOrPercentNumber(unavailable) == 0 && IntOrPercentNumber(surge) == 0) {
    errors.Invalid(path.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0");
  }
  CheckAtMost100Percent(unavailable, path.Child("maxUnavailable"), errors);
}

// Upstream shows the strategy as its internal type.
Value InternalStrategy(const Value& strategy) {
  Value rolling;
  if (const Value& given = strategy["rollingUpdate"]; !given.is_null()) {
    rolling = json::Object{{"MaxUnavailable", given["maxUnavailable"]}, {"MaxSurge", given["maxSurge"]}};
  }
  return json::Object{{"Type", strategy["type"]}, {"RollingUpdate", std::move(rolling)}};
}

void ValidateDeploymentStrategy(const Value& strategy, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(strategy, "type");
  const Value& rolling = strategy["rollingUpdate"];
  if (type == "Recreate") {
    if (!rolling.is_null()) {
      errors.Forbidden(path.Child("rollingUpdate"),
                       "may not be specified when strategy `type` is 'Recreate'");
    }
  } else if (type == "RollingUpdate") {
    ValidateDeploymentRollingUpdate(rolling, path.Child("rollingUpdate"), errors);
  } else {
    errors.NotSupported(path, InternalStrategy(strategy), {"Recreate", "RollingUpdate"});
  }
}

void ValidateDeploymentDeadline(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& deadline = spec["progressDeadlineSeconds"];
  if (deadline.is_null()) return;
  CheckNotNegative(deadline, path, errors);
  if (deadline.int_or(0) <= Number(spec, "minReadySeconds")) {
    errors.Invalid(path, deadline, "must be greater than minReadySeconds");
  }
}

void ValidateDeployment(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& selector = spec["selector"];
  CheckNotNegative(spec, {"replicas"}, path, errors);
  if (!ValidateSelector(selector, "deployment", path.Child("selector"), errors)) {
    errors.Invalid(path.Child("selector"), selector, "invalid label selector");
  } else {
    const FieldPath here = path.Child("template");
    CheckTemplateLabels(selector, spec["template"], here, errors);
    ValidatePodTemplateSpec(spec["template"], here, errors);
    ValidateLongRunningTemplate(spec["template"], "ReplicaSet", here, errors);
  }
  ValidateDeploymentStrategy(spec["strategy"], path.Child("strategy"), errors);
  CheckNotNegative(spec, {"minReadySeconds", "revisionHistoryLimit"}, path, errors);
  ValidateDeploymentDeadline(spec, path.Child("progressDeadlineSeconds"), errors);
}

void ValidateDeploymentUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec.selector"), errors);
}

void ValidateDeploymentStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  const Value& status = object["status"];
  CheckNotNegative(status,
                   {"observedGeneration", "unavailableReplicas", "terminatingReplicas", "collisionCount"},
                   path, errors);
  ValidateReplicaStatus(status, {"updatedReplicas", "readyReplicas", "availableReplicas"}, path, errors);
  CheckCollisionCount(status, old["status"], path, errors);
}

}  // namespace

const KindHooks kDeploymentHooks = {
    .group = "apps",
    .kind = "Deployment",
    .set_defaults = SetDeploymentDefaults,
    .prepare_for_update = PrepareDeploymentForUpdate,
    .prepare_for_status_update = PrepareDeploymentForStatusUpdate,
    .validate = ValidateDeployment,
    .validate_update = ValidateDeploymentUpdate,
    .validate_status_update = ValidateDeploymentStatusUpdate,
    .generation = true,
    .warnings = WarnOfTemplate,
    .name_warning = kPodNamesWarning,
};

}  // namespace flyball::api
