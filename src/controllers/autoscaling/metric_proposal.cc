#include "controllers/autoscaling/metric_proposal.h"

#include <limits>

namespace flyball::controllers {
namespace {

auto Because(const std::string& prefix, const Error& error) {
  return Unexpected(Error(error.reason(), error.code(), prefix + error.message()));
}

// Memory in the form that the metrics API has.
api::Quantity ResourceQuantity(const std::string& resource, std::int64_t milli) {
  return api::Quantity(
      milli, api::Quantity::kMilli,
      resource == "memory" ? api::Quantity::Format::kBinarySI : api::Quantity::Format::kDecimalSI);
}

api::Quantity MilliQuantity(std::int64_t milli) {
  return api::Quantity(milli, api::Quantity::kMilli);
}

// Capped, as upstream.
std::int64_t SumOf(const std::vector<std::int64_t>& values) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (const std::int64_t value : values) {
    if (value > 0 && sum > kMost - value) return kMost;
    sum += value;
  }
  return sum;
}

}  // namespace

Status MetricEvaluation::OfResource(const std::string& resource, const MetricTarget& target,
                                    const std::string& container, MetricProposal& proposal,
                                    MetricValueStatus& current) const {
  if (!target.average_value && !target.average_utilization)
    return Unexpected(BadRequest(
        "invalid resource metric source: neither an average utilization target nor an average value (usage) "
        "target was set"));
  const std::string failed =
      "failed to get " + resource + (target.average_value ? " usage: " : " utilization: ");
  const auto metrics = reader_.Resource(resource, targets_.selector, container);
  if (!metrics)
    return Because(failed + "unable to get metrics for resource " + resource + ": ", metrics.error());
  const auto found = target.average_value
                         ? calculator_.ByValue(*metrics, targets_.spec_replicas,
                                               target.average_value->MilliValue(), resource)
                         : calculator_.ByUtilization(*metrics, targets_.spec_replicas,
                                                     *target.average_utilization, resource, container);
  if (!found) return Because(failed, found.error());
  proposal.replicas = found->replicas;
  current.average_value = ResourceQuantity(resource, found->usage);
  if (target.average_value) {
    proposal.metric = resource + " resource";
  } else {
    current.average_utilization = found->utilization;
    proposal.metric =
        resource + (container.empty() ? "" : " container") + " resource utilization (percentage of request)";
  }
  return {};
}

Status MetricEvaluation::OfPods(const PodsMetricSource& source, MetricProposal& proposal) const {
  const auto metrics = reader_.OfPods(source.metric, targets_.selector);
  if (!metrics) return Because("unable to get metric " + source.metric.name + ": ", metrics.error());
  const std::int64_t target = source.target.average_value.value_or(api::Quantity()).MilliValue();
  FLYBALL_ASSIGN(const ProposedReplicas found,
                 calculator_.ByValue(*metrics, targets_.spec_replicas, target, ""));
  proposal.replicas = found.replicas;
  proposal.metric = "pods metric " + source.metric.name;
  PodsMetricStatus status{.metric = source.metric};
  status.current.average_value = MilliQuantity(found.usage);
  proposal.status.pods = std::move(status);
  return {};
}

Status MetricEvaluation::OfObject(const ObjectMetricSource& source, MetricProposal& proposal) const {
  const bool in_all = source.target.type == "Value" && source.target.value;
  if (!in_all && !(source.target.type == "AverageValue" && source.target.average_value))
    return Unexpected(BadRequest(
        "invalid object metric source: neither a value target nor an average value target was set"));
  const CrossVersionObjectReference& object = source.described_object;
  const std::string failed = (in_all ? "" : "failed to get " + source.metric.name + " object metric: ");
  const auto resource = targets_.resource_of(object);
  if (!resource) return Because(failed, resource.error());
  const auto usage = reader_.OfObject(source.metric, *resource, object);
  if (!usage)
    return Because(failed + "unable to get metric " + source.metric.name + " on " + object.kind + " " +
                       reader_.ns() + "/" + object.name + ": ",
                   usage.error());
  ObjectMetricStatus status{.metric = source.metric, .described_object = object};
  if (in_all) {
    FLYBALL_ASSIGN(const ProposedReplicas found,
                   calculator_.ByTotal(*usage, targets_.spec_replicas, source.target.value->MilliValue()));
    proposal.replicas = found.replicas;
    proposal.metric = object.kind + " metric " + source.metric.name;
    status.current.value = MilliQuantity(found.usage);
  } else {
    const ProposedReplicas found = calculator_.ByTotalPerPod(*usage, targets_.status_replicas,
                                                             source.target.average_value->MilliValue());
    proposal.replicas = found.replicas;
    proposal.metric =
        "external metric " + source.metric.name + "(" + ShownSelector(source.metric.selector) + ")";
    status.current.average_value = MilliQuantity(found.usage);
  }
  proposal.status.object = std::move(status);
  return {};
}

Status MetricEvaluation::OfExternal(const ExternalMetricSource& source, MetricProposal& proposal) const {
  if (!source.target.average_value && !source.target.value)
    return Unexpected(BadRequest(
        "invalid external metric source: neither a value target nor an average value target was set"));
  const std::string shown = ShownSelector(source.metric.selector);
  const std::string failed = source.target.average_value
                                 ? "failed to get " + source.metric.name + " external metric: "
                                 : "failed to get external metric " + source.metric.name + ": ";
  const auto values = reader_.External(source.metric);
  if (!values)
    return Because(failed + "unable to get external metric " + reader_.ns() + "/" + source.metric.name + "/" +
                       shown + ": ",
                   values.error());
  ExternalMetricStatus status{.metric = source.metric};
  if (source.target.average_value) {
    const ProposedReplicas found = calculator_.ByTotalPerPod(SumOf(*values), targets_.status_replicas,
                                                             source.target.average_value->MilliValue());
    proposal.replicas = found.replicas;
    status.current.average_value = MilliQuantity(found.usage);
  } else {
    const auto found =
        calculator_.ByTotal(SumOf(*values), targets_.spec_replicas, source.target.value->MilliValue());
    if (!found) return Because(failed, found.error());
    proposal.replicas = found->replicas;
    status.current.value = MilliQuantity(found->usage);
  }
  proposal.metric = "external metric " + source.metric.name + "(" + shown + ")";
  proposal.status.external = std::move(status);
  return {};
}

std::optional<MetricFailure> MetricEvaluation::Propose(const MetricSpec& metric,
                                                       MetricProposal& proposal) const {
  const auto because = [](const char* reason, const Status& status,
                          const std::string& value) -> std::optional<MetricFailure> {
    if (status) return std::nullopt;
    return MetricFailure{reason, status.error().message(), value};
  };
  proposal.status.type = metric.type;
  if (metric.resource) {
    ResourceMetricStatus status{.name = metric.resource->name};
    const Status done =
        OfResource(metric.resource->name, metric.resource->target, "", proposal, status.current);
    if (done) proposal.status.resource = std::move(status);
    return because("FailedGetResourceMetric", done, metric.resource->name + " resource metric value");
  }
  if (metric.container_resource) {
    const ContainerResourceMetricSource& source = *metric.container_resource;
    ContainerResourceMetricStatus status{.name = source.name, .container = source.container};
    const Status done = OfResource(source.name, source.target, source.container, proposal, status.current);
    if (done) proposal.status.container_resource = std::move(status);
    return because("FailedGetContainerResourceMetric", done, source.container + " container metric value");
  }
  if (metric.pods) return because("FailedGetPodsMetric", OfPods(*metric.pods, proposal), "pods metric value");
  if (metric.object)
    return because("FailedGetObjectMetric", OfObject(*metric.object, proposal), "object metric value");
  if (metric.external)
    return because("FailedGetExternalMetric", OfExternal(*metric.external, proposal),
                   "external metric value");
  return MetricFailure{"InvalidMetricSourceType", "unknown metric source type \"" + metric.type + "\"",
                       "metric value"};
}

}  // namespace flyball::controllers
