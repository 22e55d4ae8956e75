#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/workloads/workload.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"

namespace flyball::api {
namespace {

using json::Value;

// Without a selector or labels of its own, a controller takes its template's.
void SetReplicationControllerDefaults(Value& object) {
  SetTemplateDefaults(object);
  const Value* template_labels = object.FindPath({"spec", "template", "metadata", "labels"});
  if (template_labels == nullptr || template_labels->size() == 0) return;
  const Value labels = *template_labels;
  SetIfZero(object["spec"], "selector", labels);
  SetIfZero(object["metadata"], "labels", labels);
}

void ValidateReplicationControllerTemplate(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& pod_template = spec["template"];
  if (pod_template.is_null()) return errors.Required(path);
  if (spec["selector"].size() > 0) {
    CheckTemplateLabels(json::Object{{"matchLabels", spec["selector"]}}, pod_template, path, errors);
  }
  ValidatePodTemplateSpec(pod_template, path, errors);
  ValidateLongRunningTemplate(pod_template, "ReplicationController", path, errors);
}

void ValidateReplicationController(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  CheckNotNegative(spec, {"minReadySeconds"}, path, errors);
  if (spec["selector"].size() == 0) errors.Required(path.Child("selector"));
  CheckNotNegative(spec, {"replicas"}, path, errors);
  ValidateReplicationControllerTemplate(spec, path.Child("template"), errors);
}

void ValidateReplicationControllerStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  ValidateReplicaStatus(object["status"],
                        {"fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"},
                        FieldPath("status"), errors);
}

}  // namespace

const KindHooks kReplicationControllerHooks = {
    .group = "",
    .kind = "ReplicationController",
    .set_defaults = SetReplicationControllerDefaults,
    .validate = ValidateReplicationController,
    .validate_status_update = ValidateReplicationControllerStatusUpdate,
    .generation = true,
    .orphan_dependents = true,
    .warnings = WarnOfTemplate,
    .name_warning = kPodNamesWarning,
};

}  // namespace flyball::api
