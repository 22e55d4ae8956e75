#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/workloads/workload.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateReplicaSet(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& selector = spec["selector"];
  CheckNotNegative(spec, {"replicas", "minReadySeconds"}, path, errors);
  // Upstream says "deployment" here too.
  if (!ValidateSelector(selector, "deployment", path.Child("selector"), errors)) {
    return errors.Invalid(path.Child("selector"), selector, "invalid label selector");
  }
  const FieldPath here = path.Child("template");
  CheckTemplateLabels(selector, spec["template"], here, errors);
  ValidatePodTemplateSpec(spec["template"], here, errors);
  ValidateLongRunningTemplate(spec["template"], "ReplicaSet", here, errors);
}

void ValidateReplicaSetUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec.selector"), errors);
}

void ValidateReplicaSetStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  ValidateReplicaStatus(object["status"],
                        {"fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas",
                         "observedGeneration"},
                        FieldPath("status"), errors);
}

}  // namespace

const KindHooks kReplicaSetHooks = {
    .group = "apps",
    .kind = "ReplicaSet",
    .set_defaults = SetTemplateDefaults,
    .validate = ValidateReplicaSet,
    .validate_update = ValidateReplicaSetUpdate,
    .validate_status_update = ValidateReplicaSetStatusUpdate,
    .generation = true,
    .warnings = WarnOfTemplate,
    .name_warning = kPodNamesWarning,
};

}  // namespace flyball::api
