#include <algorithm>
#include <string>
#include <vector>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kDefaultUtilization = 80;
constexpr std::int64_t kMaxPeriodSeconds = 1800;
constexpr std::int64_t kMaxStabilizationSeconds = 3600;

bool IsOldVersion(const Value& object) {
  return Text(object, "apiVersion") == "autoscaling/v1";
}

Value Policy(const char* type, int value) {
  return json::Object{{"type", type}, {"value", value}, {"periodSeconds", 15}};
}

void SetRules(Value& rules, json::Array policies) {
  SetIfAbsent(rules, "selectPolicy", "Max");
  if (!Has(rules, "policies")) rules["policies"] = std::move(policies);
}

// Saying anything about scaling fills in all the rest.
void SetBehaviorDefaults(Value& spec) {
  Value* behavior = spec.Find("behavior");
  if (behavior == nullptr || !behavior->is_object()) return;
  SetIfAbsent((*behavior)["scaleUp"], "stabilizationWindowSeconds", 0);
  SetRules((*behavior)["scaleUp"], json::Array{Policy("Pods", 4), Policy("Percent", 100)});
  SetRules((*behavior)["scaleDown"], json::Array{Policy("Percent", 100)});
}

void SetHorizontalPodAutoscalerDefaults(Value& object) {
  Value* spec = object.Find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  if (IsOldVersion(object)) return SetIfAbsent(*spec, "targetCPUUtilizationPercentage", kDefaultUtilization);
  if (Get(*spec, "metrics").size() == 0) {
    const Value target = json::Object{{"type", "Utilization"}, {"averageUtilization", kDefaultUtilization}};
    (*spec)["metrics"] = json::Array{
        json::Object{{"type", "Resource"}, {"resource", json::Object{{"name", "cpu"}, {"target", target}}}}};
  }
  SetBehaviorDefaults(*spec);
}

void CheckSegment(const Value& ref, const char* field, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = Text(ref, field);
  if (text.empty()) return errors.Required(path.Child(field));
  CheckFormat("path-segment", text, path.Child(field), errors);
}

// What is wrong with a reference's apiVersion; empty if it is fine.
std::string ApiVersionProblem(const Value& ref, bool needs_group) {
  const std::string_view version = Text(ref, "apiVersion");
  const auto slashes = std::count(version.begin(), version.end(), '/');
  if (slashes > 1) return "unexpected GroupVersion string: " + std::string(version);
  if (needs_group && (slashes == 0 || version.starts_with('/'))) return "apiVersion must specify API group";
  return "";
}

void ValidateReference(const Value& ref, bool needs_group, const FieldPath& path, FieldErrors& errors) {
  CheckSegment(ref, "kind", path, errors);
  CheckSegment(ref, "name", path, errors);
  if (const auto problem = ApiVersionProblem(ref, needs_group); !problem.empty())
    errors.Invalid(path.Child("apiVersion"), Text(ref, "apiVersion"), problem);
}

void ValidateTarget(const Value& target, const FieldPath& path, FieldErrors& errors) {
  if (Text(target, "type").empty()) errors.Required(path.Child("type"), "must specify a metric target type");
  const std::string_view type = Text(target, "type");
  if (type != "Utilization" && type != "Value" && type != "AverageValue") {
    errors.Invalid(path.Child("type"), type, "must be either Utilization, Value, or AverageValue");
  }
  for (const char* field : {"value", "averageValue"}) {
    if (Has(target, field) && QuantityOf(target[field]).Sign() != 1) {
      errors.Invalid(path.Child(field), target[field], "must be positive");
    }
  }
  if (Has(target, "averageUtilization") && Number(target, "averageUtilization") < 1) {
    errors.Invalid(path.Child("averageUtilization"), target["averageUtilization"], "must be greater than 0");
  }
}

void ValidateMetricName(const Value& metric, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(metric, "name");
  if (name.empty()) return errors.Required(path.Child("name"), "must specify a metric name");
  CheckFormat("path-segment", name, path.Child("name"), errors);
}

void ValidateContainerName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path, "must specify a container");
  CheckFormat("dns-label", name, path, errors);
}

void ValidateResource(const Value& source, bool of_container, const FieldPath& path, FieldErrors& errors) {
  if (Text(source, "name").empty()) errors.Required(path.Child("name"), "must specify a resource name");
  if (of_container) ValidateContainerName(Text(source, "container"), path.Child("container"), errors);
  const Value& target = source["target"];
  ValidateTarget(target, path.Child("target"), errors);
  if (!Has(target, "averageUtilization") && !Has(target, "averageValue")) {
    errors.Required(path.Child("target").Child("averageUtilization"),
                    "must set either a target raw value or a target utilization");
  }
  if (Has(target, "averageUtilization") && Has(target, "averageValue")) {
    errors.Forbidden(path.Child("target").Child("averageValue"),
                     "may not set both a target raw value and a target utilization");
  }
}

void ValidateHorizontalPodAutoscalerSource(std::string_view name, const Value& source, const FieldPath& path,
                                           FieldErrors& errors) {
  const Value& target = source["target"];
  if (name == "resource") return ValidateResource(source, false, path, errors);
  if (name == "containerResource") return ValidateResource(source, true, path, errors);
  if (name == "object")
    ValidateReference(source["describedObject"], false, path.Child("describedObject"), errors);
  ValidateMetricName(source["metric"], path.Child("metric"), errors);
  ValidateTarget(target, path.Child("target"), errors);
  const bool average = Has(target, "averageValue"), value = Has(target, "value");
  if (name == "pods" && !average) {
    errors.Required(path.Child("target").Child("averageValue"),
                    "must specify a positive target averageValue");
  } else if (name != "pods" && !average && !value) {
    errors.Required(path.Child("target").Child("averageValue"),
                    name == "object" ? "must set either a target value or averageValue"
                                     : "must set either a target value for metric or a per-pod target");
  } else if (name == "external" && average && value) {
    errors.Forbidden(path.Child("target").Child("value"),
                     "may not set both a target value for metric and a per-pod target");
  }
}

struct SourceType {
  std::string_view type, field;
};
constexpr SourceType kHorizontalPodAutoscalerSources[] = {{"Object", "object"},
                                                          {"External", "external"},
                                                          {"Pods", "pods"},
                                                          {"Resource", "resource"},
                                                          {"ContainerResource", "containerResource"}};

void MetricTypeNotSupported(std::string_view type, const FieldPath& path, FieldErrors& errors) {
  errors.NotSupported(path.Child("type"), type,
                      {"ContainerResource", "External", "Object", "Pods", "Resource"});
}

// The first source is looked at, whatever the type; of several, all but the type's are too many.
void ValidateMetric(const Value& metric, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(metric, "type");
  const SourceType* wanted = nullptr;
  std::vector<const SourceType*> given;
  for (const SourceType& source : kHorizontalPodAutoscalerSources) {
    if (source.type == type) wanted = &source;
    if (Has(metric, source.field)) given.push_back(&source);
  }
  if (type.empty()) errors.Required(path.Child("type"), "must specify a metric source type");
  if (wanted == nullptr) MetricTypeNotSupported(type, path, errors);
  if (!given.empty()) {
    const std::string_view field = given.front()->field;
    ValidateHorizontalPodAutoscalerSource(field, metric[field], path.Child(field), errors);
  }
  if (wanted == nullptr) {
    MetricTypeNotSupported(type, path, errors);  // upstream says so twice
  } else if (!Has(metric, wanted->field)) {
    errors.Required(path.Child(wanted->field), "must populate information for the given metric source");
  }
  if (given.size() < 2) return;
  for (const SourceType* source : given) {
    if (source != wanted)
      errors.Forbidden(path.Child(source->field), "must populate the given metric source only");
  }
}

void ValidateMetrics(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  bool scales_from_zero = false;
  const json::Array& metrics = Items(spec["metrics"]);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    ValidateMetric(metrics[i], path.Index(i), errors);
    const std::string_view type = Text(metrics[i], "type");
    scales_from_zero |= type == "Object" || type == "External";
  }
  if (Has(spec, "minReplicas") && Number(spec, "minReplicas") == 0 && !scales_from_zero) {
    errors.Forbidden(
        path, "must specify at least one Object or External metric to support scaling to zero replicas");
  }
}

void ValidateHorizontalPodAutoscalerRules(const Value& rules, const FieldPath& path, FieldErrors& errors) {
  if (rules.is_null()) return;
  const Value& window = rules["stabilizationWindowSeconds"];
  if (!window.is_null()) {
    if (window.int_or(0) < 0) {
      errors.Invalid(path.Child("stabilizationWindowSeconds"), window,
                     "must be greater than or equal to zero");
    }
    if (window.int_or(0) > kMaxStabilizationSeconds) {
      errors.Invalid(path.Child("stabilizationWindowSeconds"), window, "must be less than or equal to 3600");
    }
  }
  if (Has(rules, "selectPolicy")) {
    CheckOneOf(Text(rules, "selectPolicy"), {"Disabled", "Max", "Min"}, path.Child("selectPolicy"), errors);
  }
  const Value& policies = rules["policies"];
  if (policies.size() == 0) errors.Required(path.Child("policies"), "must specify at least one Policy");
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Value& policy = policies.as_array()[i];
    const FieldPath here = path.Child("policies").Index(i);
    CheckOneOf(Text(policy, "type"), {"Percent", "Pods"}, here.Child("type"), errors);
    const std::int64_t value = Number(policy, "value"), period = Number(policy, "periodSeconds");
    if (value <= 0) errors.Invalid(here.Child("value"), value, "must be greater than zero");
    if (period <= 0) errors.Invalid(here.Child("periodSeconds"), period, "must be greater than zero");
    if (period > kMaxPeriodSeconds) {
      errors.Invalid(here.Child("periodSeconds"), period, "must be less than or equal to 1800");
    }
  }
  if (Has(rules, "tolerance") && QuantityOf(rules["tolerance"]).Sign() < 0)
    errors.Invalid(path.Child("tolerance"), rules["tolerance"], kNotNegativeText);
}

// ReplicationController is the only kind of the core group that can be scaled.
bool TargetNeedsGroup(const Value& spec) {
  return Text(spec["scaleTargetRef"], "kind") != "ReplicationController";
}

void ValidateHorizontalPodAutoscaler(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& min = spec["minReplicas"];
  const std::int64_t max = Number(spec, "maxReplicas");
  const std::int64_t fewest = GateEnabled("HPAScaleToZero") ? 0 : 1;
  if (!min.is_null() && min.int_or(0) < fewest) {
    errors.declarative().Invalid(path.Child("minReplicas"), min,
                                 "must be greater than or equal to " + std::to_string(fewest));
  }
  if (max == 0) errors.declarative().Required(path.Child("maxReplicas"));
  if (max < 0)
    errors.declarative().Invalid(path.Child("maxReplicas"), max, "must be greater than or equal to 1");
  if (!min.is_null() && max < min.int_or(0)) {
    errors.Invalid(path.Child("maxReplicas"), max, "must be greater than or equal to `minReplicas`");
  }
  ValidateReference(spec["scaleTargetRef"], TargetNeedsGroup(spec), path.Child("scaleTargetRef"), errors);
  ValidateMetrics(spec, path.Child("metrics"), errors);
  ValidateHorizontalPodAutoscalerRules(spec["behavior"]["scaleUp"], path.Child("behavior").Child("scaleUp"),
                                       errors);
  ValidateHorizontalPodAutoscalerRules(spec["behavior"]["scaleDown"],
                                       path.Child("behavior").Child("scaleDown"), errors);
}

// A target whose kind and version stay as they were is not checked again (upstream:
// CrossVersionObjectReferenceValidationOptions).
void ValidateHorizontalPodAutoscalerUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec.scaleTargetRef.apiVersion");
  FieldErrors found;
  ValidateHorizontalPodAutoscaler(object, found);
  const Value &target = object["spec"]["scaleTargetRef"], &old_target = old["spec"]["scaleTargetRef"];
  const bool tolerated = Text(target, "kind") == Text(old_target, "kind") &&
                         Text(target, "apiVersion") == Text(old_target, "apiVersion");
  for (Cause& cause : found.causes())
    if (!tolerated || cause.field != path.text()) errors.Add(std::move(cause));
}

void ValidateHorizontalPodAutoscalerStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  CheckNotNegative(object["status"], {"currentReplicas", "desiredReplicas"}, FieldPath("status"), errors);
}

}  // namespace

const KindHooks kHorizontalPodAutoscalerHooks = {
    .group = "autoscaling",
    .kind = "HorizontalPodAutoscaler",
    .set_defaults = SetHorizontalPodAutoscalerDefaults,
    .validate = ValidateHorizontalPodAutoscaler,
    .validate_update = ValidateHorizontalPodAutoscalerUpdate,
    .validate_status_update = ValidateHorizontalPodAutoscalerStatusUpdate,
    .validate_update_alone = true,
    .generation = true,
};

}  // namespace flyball::api
