#include "controllers/autoscaling/metric_reading.h"

#include <utility>

namespace flyball::controllers {
namespace {

constexpr char kNotEvaluated[] = "values of this API are not evaluated";

// The API's error, worded as in upstream's clients.
std::string Answer(const KindRef& metrics, const std::string& ns, const std::string& selector,
                   const Client& client) {
  ListParams params;
  params.label_selector = selector;
  const auto list = client.Dynamic(metrics).List(ns, params);
  if (list) return kNotEvaluated;
  if (!list.error().Is(Reason::kNotFound)) return list.error().message();
  return "the server could not find the requested resource (get " + metrics.GroupResource() + ")";
}

std::string ResourceAnswer(const std::string& resource, const MetricTarget& target, const std::string& ns,
                           const std::string& selector, const Client& client) {
  const KindRef metrics{"metrics.k8s.io", "v1beta1", "PodMetrics", "pods", true};
  if (!target.average_value && !target.average_utilization)
    return "invalid resource metric source: neither an average utilization target nor an average value "
           "(usage) "
           "target was set";
  return "failed to get " + resource + (target.average_value ? " usage" : " utilization") +
         ": unable to get metrics for resource " + resource +
         ": unable to fetch metrics from resource metrics API: " + Answer(metrics, ns, selector, client);
}

// Upstream looks for the API in discovery, and reports if it is missing.
std::string CustomAnswer(const std::string& metric, const std::string& ns, const Client& client) {
  const KindRef metrics{"custom.metrics.k8s.io", "v1beta2", "MetricValue", "pods/*/" + metric, true};
  std::string answer = Answer(metrics, ns, "", client);
  if (answer.starts_with("the server could not find"))
    answer = "no custom metrics API (custom.metrics.k8s.io) registered";
  return "unable to fetch metrics from custom metrics API: " + answer;
}

std::string ExternalAnswer(const std::string& metric, const std::string& ns, const Client& client) {
  const KindRef metrics{"external.metrics.k8s.io", "v1beta1", "ExternalMetricValue", metric, true};
  return "unable to get external metric " + ns + "/" + metric +
         "/nil: unable to fetch metrics from external metrics API: " + Answer(metrics, ns, "", client);
}

}  // namespace

MetricFailure ReadMetric(const MetricSpec& metric, const std::string& ns, const std::string& selector,
                         const Client& client) {
  if (metric.resource)
    return {"FailedGetResourceMetric",
            ResourceAnswer(metric.resource->name, metric.resource->target, ns, selector, client),
            metric.resource->name + " resource metric value"};
  if (metric.container_resource)
    return {"FailedGetContainerResourceMetric",
            ResourceAnswer(metric.container_resource->name, metric.container_resource->target, ns, selector,
                           client),
            metric.container_resource->name + " container metric value"};
  if (metric.pods)
    return {"FailedGetPodsMetric",
            "unable to get metric " + metric.pods->metric.name + ": " +
                CustomAnswer(metric.pods->metric.name, ns, client),
            "pods metric value"};
  if (metric.object)
    return {"FailedGetObjectMetric",
            "unable to get metric " + metric.object->metric.name + ": " +
                metric.object->described_object.kind + " on " + ns + " " +
                metric.object->described_object.name + "/" +
                CustomAnswer(metric.object->metric.name, ns, client),
            "object metric value"};
  if (metric.external)
    return {"FailedGetExternalMetric", ExternalAnswer(metric.external->metric.name, ns, client),
            "external metric value"};
  return {"InvalidMetricSourceType", "unknown metric source type \"" + metric.type + "\"", "metric value"};
}

}  // namespace flyball::controllers
