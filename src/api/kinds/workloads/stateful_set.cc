#include <algorithm>
#include <utility>

#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/claim_spec.h"
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
  Value& strategy = (*spec)["updateStrategy"];
  if (Text(strategy, "type").empty()) {
    strategy["type"] = "RollingUpdate";
    SetIfAbsent(strategy, "rollingUpdate", json::Object{});
  }
  if (Text(strategy, "type") != "RollingUpdate" || !Has(strategy, "rollingUpdate")) return;
  SetIfAbsent(strategy["rollingUpdate"], "partition", 0);
  if (GateEnabled("MaxUnavailableStatefulSet")) SetIfAbsent(strategy["rollingUpdate"], "maxUnavailable", 1);
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
  if (policy.is_null()) return;
  for (const char* when : {"whenDeleted", "whenScaled"}) {
    CheckOneOf(Text(policy, when), {"Retain", "Delete"}, path.Child(when), errors);
  }
}

// The template as its pods will be: the claims are volumes, and the controller sets hostname and subdomain.
Value TemplateToValidate(const Value& spec) {
  Value pod_template = spec["template"];
  if (!pod_template["spec"].is_object()) return pod_template;
  json::Object& pod = pod_template["spec"].as_object();
  pod.Erase("subdomain");
  pod.Erase("hostname");
  const json::Array& claims = Items(spec["volumeClaimTemplates"]);
  if (claims.empty()) return pod_template;
  json::Array volumes;
  const auto is_listed = [&](std::string_view name) {
    return std::any_of(volumes.begin(), volumes.end(),
                       [&](const Value& volume) { return Text(volume, "name") == name; });
  };
  for (const Value& claim : claims) {
    const std::string_view name = Text(claim["metadata"], "name");
    if (is_listed(name)) continue;
    volumes.emplace_back(
        json::Object{{"name", name}, {"persistentVolumeClaim", json::Object{{"claimName", name}}}});
  }
  for (const Value& volume : Items(spec["template"]["spec"]["volumes"]))
    if (!is_listed(Text(volume, "name"))) volumes.push_back(volume);
  pod.Set("volumes", std::move(volumes));
  return pod_template;
}

// What is not asked of sets that exist already (upstream: StatefulSetValidationOptions).
struct StatefulSetLeniency {
  bool service_name = false, claim_templates = false, pod_template = false;
};

void ValidateStatefulSetTemplate(const Value& spec, bool whole, const FieldPath& path, FieldErrors& errors) {
  const Value pod_template = TemplateToValidate(spec);
  const Value& metadata = std::as_const(pod_template)["metadata"];
  CheckTemplateLabels(spec["selector"], pod_template, path, errors);
  if (whole) ValidatePodTemplateSpec(pod_template, path, errors);
  ValidateLabels(metadata["labels"], path.Child("labels"), errors);
  ValidateAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  ValidatePodAnnotations(metadata["annotations"], std::as_const(pod_template)["spec"],
                         path.Child("annotations"), errors);
}

void ValidateStatefulSetSpec(const Value& spec, const StatefulSetLeniency& lenient, FieldErrors& errors) {
  const FieldPath path("spec");
  const std::string_view management = Text(spec, "podManagementPolicy");
  if (management.empty()) {
    errors.Required(path.Child("podManagementPolicy"));
  } else if (management != "OrderedReady" && management != "Parallel") {
    errors.Invalid(path.Child("podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'");
  }
  ValidateStatefulSetStrategy(spec["updateStrategy"], path.Child("updateStrategy"), errors);
  ValidateRetention(spec["persistentVolumeClaimRetentionPolicy"],
                    path.Child("persistentVolumeClaimRetentionPolicy"), errors);
  const json::Array& claims = Items(spec["volumeClaimTemplates"]);
  for (std::size_t i = 0; !lenient.claim_templates && i < claims.size(); ++i)
    ValidateClaimSpec(claims[i]["spec"], path.Child("volumeClaimTemplates").Index(i).Child("spec"), errors);
  CheckNotNegative(spec, {"replicas", "minReadySeconds"}, path, errors);
  CheckNotNegative(spec["ordinals"], {"start"}, path.Child("ordinals"), errors);
  if (const auto service = Text(spec, "serviceName"); !lenient.service_name && !service.empty())
    CheckFormat("dns-label", service, path.Child("serviceName"), errors);
  if (!ValidateSelector(spec["selector"], "statefulset", path.Child("selector"), errors)) {
    errors.Invalid(path.Child("selector"), spec["selector"], "");
  } else {
    ValidateStatefulSetTemplate(spec, !lenient.pod_template, path.Child("template"), errors);
  }
  ValidateLongRunningTemplate(spec["template"], "StatefulSet", path.Child("template"), errors);
  CheckNotNegative(spec, {"revisionHistoryLimit"}, path, errors);
}

void ValidateStatefulSet(const Value& object, FieldErrors& errors) {
  ValidateStatefulSetSpec(object["spec"], {}, errors);
}

Value ShownField(std::string_view field, const Value& value) {
  if (field != "volumeClaimTemplates" || !value.is_array()) return value;
  json::Array claims;
  for (const Value& claim : value.as_array())
    claims.push_back(GoInternal("io.k8s.api.core.v1.PersistentVolumeClaim", claim));
  return claims;
}

void ValidateStatefulSetUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  StatefulSetLeniency lenient{.service_name = true, .claim_templates = true};
  FieldErrors before;
  ValidateStatefulSetSpec(old["spec"], lenient, before);
  lenient.pod_template = !before.empty();
  ValidateStatefulSetSpec(spec, lenient, errors);
  for (const char* field : {"selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"}) {
    if (spec[field] == old["spec"][field]) continue;
    errors.Invalid(path.Child(field), ShownField(field, spec[field]), kImmutableText);
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
    .name_format = "dns-label",
    .validate_update_alone = true,
    .generation = true,
    .warnings = WarnOfTemplate,
};

}  // namespace flyball::api
