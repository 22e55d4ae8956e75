
#include "api/format.h"
#include "api/kinds/access.h"
#include "api/kinds/checks.h"
#include "api/kinds/hooks.h"
#include "api/object_meta.h"

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
  if (!Has(*behavior, "scaleUp") && !Has(*behavior, "scaleDown")) return;
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

void ValidateReference(const Value& ref, const FieldPath& path, FieldErrors& errors) {
  CheckSegment(ref, "kind", path, errors);
  CheckSegment(ref, "name", path, errors);
}

void ValidateTarget(const Value& target, const FieldPath& path, FieldErrors& errors) {
  if (Text(target, "type").empty()) errors.Required(path.Child("type"), "must specify a metric target type");
  const std::string_view type = Text(target, "type");
  if (!type.empty() && type != "Utilization" && type != "Value" && type != "AverageValue") {
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
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else {
    CheckFormat("path-segment", name, path.Child("name"), errors);
  }
  ValidateLabelSelector(metric["selector"], path.Child("selector"), errors);
}

void ValidateResource(const Value& source, const FieldPath& path, FieldErrors& errors) {
  if (Text(source, "name").empty()) errors.Required(path.Child("name"), "must specify a resource name");
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
  if (name == "resource" || name == "containerResource") {
    if (name == "containerResource" && Text(source, "container").empty()) {
      errors.Required(path.Child("container"), "must specify a container");
    }
    return ValidateResource(source, path, errors);
  }
  if (name == "object") ValidateReference(source["describedObject"], path.Child("describedObject"), errors);
  ValidateMetricName(source["metric"], path.Child("metric"), errors);
  ValidateTarget(target, path.Child("target"), errors);
  const bool average = Has(target, "averageValue"), value = Has(target, "value");
  if (name == "pods" && !average) {
    errors.Required(path.Child("target").Child("averageValue"),
                    "must specify a positive target averageValue");
  } else if (name != "pods" && !average && !value) {
    errors.Required(path.Child("target").Child("averageValue"),
                    "must set either a target value for metric or a per-pod target");
  } else if (name == "external" && average && value) {
    errors.Forbidden(path.Child("target").Child("value"),
                     "may not set both a target value for metric and a per-pod target");
  }
}

struct SourceType {
  std::string_view type, field;
};
constexpr SourceType kHorizontalPodAutoscalerSources[] = {{"Object", "object"},
                                                          {"Pods", "pods"},
                                                          {"Resource", "resource"},
                                                          {"External", "external"},
                                                          {"ContainerResource", "containerResource"}};

void ValidateMetric(const Value& metric, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(metric, "type");
  if (type.empty()) errors.Required(path.Child("type"), "must specify a metric source type");
  const SourceType* wanted = nullptr;
  for (const SourceType& source : kHorizontalPodAutoscalerSources)
    wanted = source.type == type ? &source : wanted;
  if (!type.empty() && wanted == nullptr) {
    errors.NotSupported(path.Child("type"), type,
                        {"ContainerResource", "External", "Object", "Pods", "Resource"});
  }
  int given = 0;
  for (const SourceType& source : kHorizontalPodAutoscalerSources) {
    if (!Has(metric, source.field)) continue;
    if (++given == 1) {
      ValidateHorizontalPodAutoscalerSource(source.field, metric[source.field], path.Child(source.field),
                                            errors);
    } else {
      errors.Forbidden(path.Child(source.field), "must populate the given metric source only");
    }
  }
  if (wanted != nullptr && !Has(metric, wanted->field)) {
    errors.Required(path.Child(wanted->field), "must populate information for the given metric source");
  }
}

void ValidateHorizontalPodAutoscalerRules(const Value& rules, const FieldPath& path, FieldErrors& errors) {
  if (rules.is_null()) return;
  const Value& window = rules["stabilizationWindowSeconds"];
  if (!window.is_null()) {
    CheckNotNegative(window, path.Child("stabilizationWindowSeconds"), errors);
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
}

void ValidateHorizontalPodAutoscaler(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& min = spec["minReplicas"];
  const std::int64_t max = Number(spec, "maxReplicas");
  if (!min.is_null() && min.int_or(0) < 1) {
    errors.Invalid(path.Child("minReplicas"), min, "must be greater than or equal to 1");
  }
  if (max < 1) errors.Invalid(path.Child("maxReplicas"), max, "must be greater than 0");
  if (!min.is_null() && max < min.int_or(0)) {
    errors.Invalid(path.Child("maxReplicas"), max, "must be greater than or equal to `minReplicas`");
  }
  ValidateReference(spec["scaleTargetRef"], path.Child("scaleTargetRef"), errors);
  const Value& metrics = spec["metrics"];
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    ValidateMetric(metrics.as_array()[i], path.Child("metrics").Index(i), errors);
  }
  ValidateHorizontalPodAutoscalerRules(spec["behavior"]["scaleUp"], path.Child("behavior").Child("scaleUp"),
                                       errors);
  ValidateHorizontalPodAutoscalerRules(spec["behavior"]["scaleDown"],
                                       path.Child("behavior").Child("scaleDown"), errors);
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
    .validate_status_update = ValidateHorizontalPodAutoscalerStatusUpdate,
};

}  // namespace flyball::api
