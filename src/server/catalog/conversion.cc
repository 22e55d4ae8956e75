#include "server/catalog/conversion.h"

#include <array>
#include <string_view>
#include <utility>

#include "json/json.h"

namespace flyball::server {
namespace {

constexpr std::string_view kMetricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";

void Move(json::Value& object, std::string_view from, std::string_view to) {
  auto& members = object.as_object();
  auto* value = members.Find(from);
  if (!value) return;
  json::Value moved = std::move(*value);
  members.Erase(from);
  members.Set(to, std::move(moved));
}

bool IsCpuUtilization(const json::Value& metric) {
  return metric["type"].string_or("") == "Resource" && metric["resource"]["name"].string_or("") == "cpu" &&
         metric["resource"]["target"]["averageUtilization"].is_int();
}

json::Value CpuMetric(const json::Value& percent) {
  return json::Object{
      {"type", "Resource"},
      {"resource",
       json::Object{{"name", "cpu"},
                    {"target", json::Object{{"type", "Utilization"}, {"averageUtilization", percent}}}}}};
}

// autoscaling/v1 knows one metric, the CPU utilisation; the others travel in an annotation, as upstream does
// it.
json::Value AutoscalerToV2(json::Value object) {
  object["apiVersion"] = "autoscaling/v2";
  auto& spec = object["spec"];
  if (!spec.is_object()) return object;
  json::Array metrics;
  auto* annotations = object.FindPath({"metadata", "annotations"});
  if (annotations && annotations->is_object()) {
    if (const auto* text = annotations->Find(kMetricsAnnotation); text && text->is_string())
      if (auto others = json::Parse(text->as_string()); others && others->is_array())
        metrics = others->as_array();
    annotations->as_object().Erase(kMetricsAnnotation);
  }
  if (const auto* percent = spec.Find("targetCPUUtilizationPercentage"); percent && percent->is_int())
    metrics.push_back(CpuMetric(*percent));
  spec.as_object().Erase("targetCPUUtilizationPercentage");
  if (!metrics.empty()) spec["metrics"] = std::move(metrics);
  if (auto* status = object.Find("status"); status && status->is_object()) {
    if (const auto* percent = status->Find("currentCPUUtilizationPercentage"); percent && percent->is_int()) {
      json::Value current = json::Object{{"averageUtilization", *percent}, {"averageValue", "0"}};
      (*status)["currentMetrics"] = json::Array{
          json::Object{{"type", "Resource"},
                       {"resource", json::Object{{"name", "cpu"}, {"current", std::move(current)}}}}};
    }
    status->as_object().Erase("currentCPUUtilizationPercentage");
  }
  return object;
}

json::Value AutoscalerToV1(json::Value object) {
  object["apiVersion"] = "autoscaling/v1";
  auto& spec = object["spec"];
  json::Array others;
  if (auto* metrics = spec.Find("metrics"); metrics && metrics->is_array()) {
    json::Value percent;
    for (auto& metric : metrics->as_array()) {
      if (percent.is_null() && IsCpuUtilization(metric)) {
        percent = metric["resource"]["target"]["averageUtilization"];
      } else {
        others.push_back(std::move(metric));
      }
    }
    spec.as_object().Erase("metrics");
    if (!percent.is_null()) spec["targetCPUUtilizationPercentage"] = std::move(percent);
  }
  if (!others.empty())
    object["metadata"]["annotations"][kMetricsAnnotation] = json::Write(json::Value(std::move(others)));
  spec.as_object().Erase("behavior");
  if (auto* status = object.Find("status"); status && status->is_object()) {
    json::Value percent;
    if (const auto* current = status->Find("currentMetrics"); current && current->is_array())
      for (const auto& metric : current->as_array())
        if (metric["resource"]["name"].string_or("") == "cpu")
          percent = metric["resource"]["current"]["averageUtilization"];
    status->as_object().Erase("currentMetrics");
    status->as_object().Erase("conditions");
    if (!percent.is_null()) (*status)["currentCPUUtilizationPercentage"] = std::move(percent);
    if (!status->Find("currentReplicas")) (*status)["currentReplicas"] = 0;
  }
  return object;
}

struct Renamed {
  std::string_view stored, served;
};
constexpr std::array kEventFields = {
    Renamed{"involvedObject", "regarding"},
    Renamed{"message", "note"},
    Renamed{"count", "deprecatedCount"},
    Renamed{"firstTimestamp", "deprecatedFirstTimestamp"},
    Renamed{"lastTimestamp", "deprecatedLastTimestamp"},
    Renamed{"source", "deprecatedSource"},
    Renamed{"reportingComponent", "reportingController"},
};

json::Value EventToCore(json::Value object) {
  object["apiVersion"] = "v1";
  for (const auto& field : kEventFields) Move(object, field.served, field.stored);
  return object;
}

json::Value EventFromCore(json::Value object) {
  object["apiVersion"] = "events.k8s.io/v1";
  for (const auto& field : kEventFields) Move(object, field.stored, field.served);
  // Empty they are shown in the core group only.
  for (const std::string_view field : {"reportingController", "reportingInstance"})
    if (std::as_const(object)[field].string_or("-").empty()) object.as_object().Erase(field);
  return object;
}

bool IsAutoscalerV1(const api::KindInfo& kind) {
  return kind.group == "autoscaling" && kind.version == "v1" && kind.kind == "HorizontalPodAutoscaler";
}

bool IsEventsV1(const api::KindInfo& kind) {
  return kind.group == "events.k8s.io" && kind.kind == "Event";
}

}  // namespace

std::shared_ptr<const VersionConversion> ConversionFor(const api::KindInfo& kind) {
  if (IsAutoscalerV1(kind))
    return std::make_shared<VersionConversion>(VersionConversion{&AutoscalerToV1, &AutoscalerToV2});
  if (IsEventsV1(kind))
    return std::make_shared<VersionConversion>(VersionConversion{&EventFromCore, &EventToCore});
  return nullptr;
}

const api::KindInfo& StoredKind(const api::KindInfo& kind) {
  const api::KindInfo* stored = nullptr;
  if (IsAutoscalerV1(kind)) stored = api::FindBuiltinKind("autoscaling", "v2", kind.kind);
  if (IsEventsV1(kind)) stored = api::FindBuiltinKind("", "v1", "Event");
  return stored ? *stored : kind;
}

}  // namespace flyball::server
