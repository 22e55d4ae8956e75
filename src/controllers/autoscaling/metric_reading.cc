#include "controllers/autoscaling/metric_reading.h"

#include <utility>

#include "api/values/duration.h"
#include "api/values/time.h"

namespace flyball::controllers {
namespace {

// Upstream: metricServerDefaultMetricWindow.
constexpr Duration kDefaultWindow = std::chrono::minutes(1);
constexpr char kCustomGroup[] = "custom.metrics.k8s.io";

Error Prefixed(const std::string& prefix, const Error& error) {
  return Error(error.reason(), error.code(), prefix + error.message());
}

Error NothingReturned(const char* api) {
  return Error(Reason::kNotFound, std::string("no metrics returned from ") + api + " metrics API");
}

// What is not served is named as in upstream's clients.
Result<json::Value> GetMetrics(const Client& client, RestRequest request, const std::string& resource) {
  auto answer = client.rest().DoJson(std::move(request));
  if (answer || !answer.error().Is(Reason::kNotFound)) return answer;
  const std::string& message = answer.error().message();
  if (message != "the server could not find the requested resource") return answer;
  return Unexpected(Error(Reason::kNotFound, message + " (get " + resource + ")"));
}

std::int64_t MilliOf(const json::Value& quantity) {
  const auto parsed = api::Quantity::Parse(quantity.string_or("0"));
  return parsed ? parsed->MilliValue() : 0;
}

TimePoint TimeIn(const json::Value& text) {
  const auto time = api::ParseTime(text.string_or(""));
  return time ? time->ToTimePoint() : TimePoint{};
}

Duration WindowIn(const json::Value& text) {
  return api::ParseDuration(text.string_or("")).value_or(Duration::zero());
}

// Nothing if one of its containers, or the one that is named, has no value.
std::optional<std::int64_t> UseOfPod(const json::Value& pod, const std::string& resource,
                                     const std::string& container) {
  if (!pod["containers"].is_array() || pod["containers"].as_array().empty()) return std::nullopt;
  std::int64_t sum = 0;
  bool found = container.empty();
  for (const json::Value& each : pod["containers"].as_array()) {
    if (!container.empty() && each["name"].string_or("") != container) continue;
    const json::Value* value = each["usage"].Find(resource);
    if (!value) return std::nullopt;
    sum += MilliOf(*value);
    found = true;
  }
  return found ? std::optional(sum) : std::nullopt;
}

std::string RequirementText(const LabelSelectorRequirement& requirement) {
  std::string values;
  for (const std::string& value : requirement.values) values += (values.empty() ? "" : " ") + value;
  return "LabelSelectorRequirement{Key:" + requirement.key + ",Operator:" + requirement.operator_ +
         ",Values:[" + values + "],}";
}

}  // namespace

Result<std::string> SelectorText(const api::Optional<LabelSelector>& selector) {
  if (!selector) return std::string();
  FLYBALL_ASSIGN(const api::LabelSelector parsed, api::LabelSelector::FromObject(ToJson(*selector)));
  return parsed.ToString();
}

std::string ShownSelector(const api::Optional<LabelSelector>& selector) {
  if (!selector) return "nil";
  std::string labels, expressions;
  for (const auto& [key, value] : selector->match_labels) labels += key + ": " + value + ",";
  for (const auto& requirement : selector->match_expressions)
    expressions += RequirementText(requirement) + ",";
  return "&LabelSelector{MatchLabels:map[string]string{" + labels +
         "},MatchExpressions:[]LabelSelectorRequirement{" + expressions + "},}";
}

Result<PodMetricValues> MetricReader::Resource(const std::string& resource, const std::string& selector,
                                               const std::string& container) const {
  RestRequest request;
  request.path = "/apis/metrics.k8s.io/v1beta1/namespaces/" + PercentEncode(ns_) + "/pods";
  request.Query("labelSelector", selector);
  const auto list = GetMetrics(client_, std::move(request), "pods.metrics.k8s.io");
  if (!list) return Unexpected(Prefixed("unable to fetch metrics from resource metrics API: ", list.error()));
  PodMetricValues values;
  const json::Value& items = (*list)["items"];
  if (!items.is_array() || items.as_array().empty()) return Unexpected(NothingReturned("resource"));
  for (const json::Value& pod : items.as_array())
    if (const auto used = UseOfPod(pod, resource, container))
      values[std::string(pod["metadata"]["name"].string_or(""))] = {TimeIn(pod["timestamp"]),
                                                                    WindowIn(pod["window"]), *used};
  return values;
}

Result<std::string> MetricReader::CustomVersion() const {
  const auto group = client_.rest().DoJson({.path = std::string("/apis/") + kCustomGroup});
  if (!group && group.error().Is(Reason::kNotFound))
    return Unexpected(
        Error(Reason::kNotFound, std::string("no custom metrics API (") + kCustomGroup + ") registered"));
  if (!group) return Unexpected(group.error());
  const auto known = [](std::string_view version) { return version == "v1beta1" || version == "v1beta2"; };
  if (const auto preferred = (*group)["preferredVersion"]["version"].string_or(""); known(preferred))
    return std::string(preferred);
  if ((*group)["versions"].is_array())
    for (const json::Value& version : (*group)["versions"].as_array())
      if (const auto name = version["version"].string_or(""); known(name)) return std::string(name);
  return Unexpected(Error(Reason::kNotFound, "no known available metric versions found"));
}

Result<json::Value> MetricReader::Custom(const std::string& path, const std::string& selector,
                                         const MetricIdentifier& metric) const {
  const auto version = CustomVersion();
  if (!version)
    return Unexpected(Prefixed("unable to fetch metrics from custom metrics API: ", version.error()));
  FLYBALL_ASSIGN(std::string metric_selector, SelectorText(metric.selector));
  RestRequest request;
  request.path = std::string("/apis/") + kCustomGroup + "/" + *version + "/namespaces/" + PercentEncode(ns_) +
                 "/" + path;
  request.Query("labelSelector", selector).Query("metricLabelSelector", std::move(metric_selector));
  auto list = GetMetrics(client_, std::move(request), path.substr(0, path.find('/')) + "." + kCustomGroup);
  if (!list) return Unexpected(Prefixed("unable to fetch metrics from custom metrics API: ", list.error()));
  if (!(*list)["items"].is_array() || (*list)["items"].as_array().empty())
    return Unexpected(NothingReturned("custom"));
  return list;
}

Result<PodMetricValues> MetricReader::OfPods(const MetricIdentifier& metric,
                                             const std::string& selector) const {
  FLYBALL_ASSIGN(const json::Value list, Custom("pods/*/" + PercentEncode(metric.name), selector, metric));
  PodMetricValues values;
  for (const json::Value& item : list["items"].as_array()) {
    const std::int64_t seconds = item["windowSeconds"].int_or(0);
    const Duration window = seconds > 0 ? std::chrono::seconds(seconds) : kDefaultWindow;
    values[std::string(item["describedObject"]["name"].string_or(""))] = {TimeIn(item["timestamp"]), window,
                                                                          MilliOf(item["value"])};
  }
  return values;
}

Result<std::int64_t> MetricReader::OfObject(const MetricIdentifier& metric, const std::string& plural_group,
                                            const CrossVersionObjectReference& object) const {
  // Those of the namespace itself have a path of their own.
  const std::string path = plural_group == "namespaces" ? "metrics/" + PercentEncode(metric.name)
                                                        : plural_group + "/" + PercentEncode(object.name) +
                                                              "/" + PercentEncode(metric.name);
  FLYBALL_ASSIGN(const json::Value list, Custom(path, "", metric));
  const json::Array& items = list["items"].as_array();
  if (items.size() != 1)
    return Unexpected(
        InternalError("unable to fetch metrics from custom metrics API: the custom metrics API "
                      "server returned " +
                      std::to_string(items.size()) + " results when we asked for exactly one"));
  return MilliOf(items[0]["value"]);
}

Result<std::vector<std::int64_t>> MetricReader::External(const MetricIdentifier& metric) const {
  FLYBALL_ASSIGN(std::string selector, SelectorText(metric.selector));
  RestRequest request;
  request.path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + PercentEncode(ns_) + "/" +
                 PercentEncode(metric.name);
  request.Query("labelSelector", std::move(selector));
  const auto list = GetMetrics(client_, std::move(request), metric.name + ".external.metrics.k8s.io");
  if (!list) return Unexpected(Prefixed("unable to fetch metrics from external metrics API: ", list.error()));
  if (!(*list)["items"].is_array() || (*list)["items"].as_array().empty())
    return Unexpected(NothingReturned("external"));
  std::vector<std::int64_t> values;
  for (const json::Value& item : (*list)["items"].as_array()) values.push_back(MilliOf(item["value"]));
  return values;
}

}  // namespace flyball::controllers
