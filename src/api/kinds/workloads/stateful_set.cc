#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/workloads/workload.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

// Claim templates say what they are, though nothing reads it.
void SetClaimTypes(Value& spec) {
  Value* templates = spec.Find("volumeClaimTemplates");
  if (templates == nullptr || !templates->is_array()) return;
  for (Value& claim : templates->as_array()) {
    claim["kind"] = "PersistentVolumeClaim";
    claim["apiVersion"] = "v1";
  }
}

void SetStatefulSetDefaults(Value& object) {
  SetTemplateDefaults(object);
  Value* spec = object.Find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  SetClaimTypes(*spec);
  Value* strategy = spec->Find("updateStrategy");
  if (strategy == nullptr || Text(*strategy, "type") != "RollingUpdate") return;
  SetIfAbsent(*strategy, "rollingUpdate", json::Object{});
  SetIfAbsent((*strategy)["rollingUpdate"], "partition", 0);
  if (GateEnabled("MaxUnavailableStatefulSet"))
    SetIfAbsent((*strategy)["rollingUpdate"], "maxUnavailable", 1);
}

void ValidateStatefulSetStrategy(const Value& strategy, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(strategy, "type");
  const Value& rolling = strategy["rollingUpdate"];
  if (type.empty()) return errors.Required(path);
  if (type == "OnDelete") {
    if (rolling.is_null()) return;
    return errors.Invalid(path.Child("rollingUpdate"),
                          GoInternal("io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy", rolling),
                          "only allowed for updateStrategy 'RollingUpdate'");
  }
  if (type != "RollingUpdate") {
    return errors.Invalid(path, GoInternal("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", strategy),
                          "must be 'RollingUpdate' or 'OnDelete'");
  }
  CheckNotNegative(rolling, {"partition"}, path.Child("rollingUpdate"), errors);
  if (!Has(rolling, "maxUnavailable")) return;
  const FieldPath here = path.Child("rollingUpdate").Child("maxUnavailable");
  CheckIntOrPercent(rolling["maxUnavailable"], here, errors);
  if (IntOrPercentNumber(rolling["maxUnavailable"]) == 0) {
    errors.Invalid(here, rolling["maxUnavailable"], "cannot be 0");
  }
  CheckAtMost100Percent(rolling["maxUnavailable"], here, errors);
}

void ValidateRetention(const Value& policy, const FieldPath& path, FieldErrors& errors) {
  if (policy.is_null()) return errors.Required(path);
  for (const char* when : {"whenDeleted", "whenScaled"}) {
    CheckOneOf(Text(policy, when), {"Retain", "Delete"}, path.Child(when), errors);
  }
}

// The pod's spec is not checked: its volumes come from the claim templates.
void ValidateStatefulSetTemplate(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& pod_template = spec["template"];
  const Value& metadata = pod_template["metadata"];
  CheckTemplateLabels(spec["selector"], pod_template, path, errors);
  ValidateLabels(metadata["labels"], path.Child("labels"), errors);
  ValidateAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  ValidatePodAnnotations(metadata["annotations"], pod_template["spec"], path.Child("annotations"), errors);
}

void ValidateStatefulSet(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const std::string_view management = Text(spec, "podManagementPolicy");
  if (management.empty()) {
    errors.Required(path.Child("podManagementPolicy"));
  } else if (management != "OrderedReady" && management != "Parallel") {
    errors.Invalid(path.Child("podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'");
  }
  ValidateStatefulSetStrategy(spec["updateStrategy"], path.Child("updateStrategy"), errors);
  ValidateRetention(spec["persistentVolumeClaimRetentionPolicy"],
                    path.Child("persistentVolumeClaimRetentionPolicy"), errors);
  CheckNotNegative(spec, {"replicas", "minReadySeconds"}, path, errors);
  CheckNotNegative(spec["ordinals"], {"start"}, path.Child("ordinals"), errors);
  if (!ValidateSelector(spec["selector"], "statefulset", path.Child("selector"), errors)) {
    errors.Invalid(path.Child("selector"), spec["selector"], "");
  } else {
    ValidateStatefulSetTemplate(spec, path.Child("template"), errors);
  }
  ValidateLongRunningTemplate(spec["template"], "StatefulSet", path.Child("template"), errors);
  CheckNotNegative(spec, {"revisionHistoryLimit"}, path, errors);
}

void ValidateStatefulSetUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  for (const char* field : {"selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"}) {
    if (spec[field] == old["spec"][field]) continue;
    errors.Invalid(path.Child(field), spec[field], kImmutableText);
  }
}

void ValidateStatefulSetStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  ValidateReplicaStatus(object["status"],
                        {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
                         "observedGeneration", "collisionCount"},
                        path, errors);
  CheckCollisionCount(object["status"], old["status"], path, errors);
}

}  // namespace

const KindHooks kStatefulSetHooks = {
    .group = "apps",
    .kind = "StatefulSet",
    .set_defaults = SetStatefulSetDefaults,
    .validate = ValidateStatefulSet,
    .validate_update = ValidateStatefulSetUpdate,
    .validate_status_update = ValidateStatefulSetStatusUpdate,
    .generation = true,
    .warnings = WarnOfTemplate,
};

}  // namespace flyball::api
