#include <charconv>
#include <string>

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

// How the old field templateGeneration is still shown.
constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";

void SetDaemonSetDefaults(Value& object) {
  SetTemplateDefaults(object);
  // The field it stands for is never absent, so its writer owns it.
  SetIfAbsent(object["metadata"]["annotations"], kTemplateGeneration, "0");
  Value* strategy = object.FindPath({"spec", "updateStrategy"});
  if (strategy == nullptr || Text(*strategy, "type") != "RollingUpdate") return;
  SetIfAbsent(*strategy, "rollingUpdate", json::Object{});
  Value& rolling = (*strategy)["rollingUpdate"];
  SetIfAbsent(rolling, "maxUnavailable", 1);
  SetIfAbsent(rolling, "maxSurge", 0);
}

std::int64_t TemplateGeneration(const Value& object) {
  const std::string_view text = Text(object["metadata"]["annotations"], kTemplateGeneration);
  std::int64_t generation = 0;
  std::from_chars(text.data(), text.data() + text.size(), generation);
  return generation;
}

void SetTemplateGeneration(Value& object, std::int64_t generation) {
  object["metadata"]["annotations"][kTemplateGeneration] = std::to_string(generation);
}

void PrepareDaemonSetForCreate(Value& object) {
  SetTemplateGeneration(object, std::max<std::int64_t>(TemplateGeneration(object), 1));
}

void PrepareDaemonSetStatusUpdate(Value& object, const Value& old) {
  SetTemplateGeneration(object, TemplateGeneration(old));
}

void PrepareDaemonSetForUpdate(Value& object, const Value& old) {
  const bool changed = Get(object["spec"], "template") != old["spec"]["template"];
  SetTemplateGeneration(object, TemplateGeneration(old) + (changed ? 1 : 0));
}

void ValidateDaemonSetRollingUpdate(const Value& rolling, const FieldPath& path, FieldErrors& errors) {
  if (rolling.is_null()) return errors.Required(path);
  const Value& unavailable = rolling["maxUnavailable"];
  const Value& surge = rolling["maxSurge"];
  CheckIntOrPercent(unavailable, path.Child("maxUnavailable"), errors);
  CheckIntOrPercent(surge, path.Child("maxSurge"), errors);
  const bool has_unavailable = IntOrPercentNumber(unavailable) != 0,
             has_surge = IntOrPercentNumber(surge) != 0;
  if (has_unavailable && has_surge) {
    errors.Invalid(path.Child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero");
  } else if (!has_unavailable && !has_surge) {
    errors.Required(path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0");
  }
  CheckAtMost100Percent(unavailable, path.Child("maxUnavailable"), errors);
  CheckAtMost100Percent(surge, path.Child("maxSurge"), errors);
}

void ValidateDaemonSetStrategy(const Value& strategy, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(strategy, "type");
  if (type == "OnDelete") return;
  if (type == "RollingUpdate") {
    return ValidateDaemonSetRollingUpdate(strategy["rollingUpdate"], path.Child("rollingUpdate"), errors);
  }
  Value rolling;
  if (const Value& given = strategy["rollingUpdate"]; !given.is_null()) {
    rolling = json::Object{{"MaxUnavailable", given["maxUnavailable"]}, {"MaxSurge", given["maxSurge"]}};
  }
  errors.NotSupported(path, json::Object{{"Type", strategy["type"]}, {"RollingUpdate", std::move(rolling)}},
                      {"RollingUpdate", "OnDelete"});
}

void ValidateDaemonSet(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& selector = spec["selector"];
  const FieldPath here = path.Child("template");
  ValidateLabelSelector(selector, path.Child("selector"), errors);
  if (IsUsableSelector(selector)) CheckTemplateLabels(selector, spec["template"], here, errors);
  if (!selector.is_null() && IsEmptySelector(selector)) {
    errors.Invalid(path.Child("selector"), selector, "empty selector is invalid for daemonset");
  }
  ValidatePodTemplateSpec(spec["template"], here, errors);
  ValidateLongRunningTemplate(spec["template"], "DaemonSet", here, errors);
  CheckNotNegative(spec, {"minReadySeconds"}, path, errors);
  ValidateDaemonSetStrategy(spec["updateStrategy"], path.Child("updateStrategy"), errors);
  CheckNotNegative(spec, {"revisionHistoryLimit"}, path, errors);
}

void ValidateDaemonSetUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec.selector"), errors);
  ValidateDaemonSet(object, errors);
}

void ValidateDaemonSetStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  CheckNotNegative(object["status"],
                   {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
                    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
                    "collisionCount"},
                   path, errors);
  CheckCollisionCount(object["status"], old["status"], path, errors);
}

}  // namespace

const KindHooks kDaemonSetHooks = {
    .group = "apps",
    .kind = "DaemonSet",
    .set_defaults = SetDaemonSetDefaults,
    .prepare_for_create = PrepareDaemonSetForCreate,
    .prepare_for_update = PrepareDaemonSetForUpdate,
    .prepare_for_status_update = PrepareDaemonSetStatusUpdate,
    .validate = ValidateDaemonSet,
    .validate_update = ValidateDaemonSetUpdate,
    .validate_status_update = ValidateDaemonSetStatusUpdate,
    .validate_update_alone = true,
    .generation = true,
    .field_annotation = kTemplateGeneration,
    .warnings = WarnOfTemplate,
};

}  // namespace flyball::api
