// Reads the metrics that an autoscaler scales by: of the APIs metrics.k8s.io, custom.metrics.k8s.io and
// external.metrics.k8s.io. Errors are worded as upstream's metrics clients word them. Values are in
// thousandths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/select/selector.h"
#include "api/types/autoscaling.h"
#include "client/client.h"

namespace flyball::controllers {

// Of one pod.
struct PodMetric {
  TimePoint at{};
  Duration window{};
  std::int64_t value = 0;
};
using PodMetricValues = std::map<std::string, PodMetric>;  // by name

// A value; thread-compatible.
class MetricReader {
 public:
  MetricReader(Client client, std::string ns) : client_(std::move(client)), ns_(std::move(ns)) {}

  const std::string& ns() const { return ns_; }
  // What the pods that match `selector` use of a resource; of one container if it is named.
  Result<PodMetricValues> Resource(const std::string& resource, const std::string& selector,
                                   const std::string& container) const;
  Result<PodMetricValues> OfPods(const MetricIdentifier& metric, const std::string& selector) const;
  // `plural_group`: "services", "ingresses.networking.k8s.io".
  Result<std::int64_t> OfObject(const MetricIdentifier& metric, const std::string& plural_group,
                                const CrossVersionObjectReference& object) const;
  Result<std::vector<std::int64_t>> External(const MetricIdentifier& metric) const;

 private:
  Result<std::string> CustomVersion() const;
  Result<json::Value> Custom(const std::string& path, const std::string& selector,
                             const MetricIdentifier& metric) const;

  const Client client_;
  const std::string ns_;
};

// As a query parameter; an absent one selects everything.
Result<std::string> SelectorText(const api::Optional<LabelSelector>& selector);
// As Go's %+v shows it: "nil", "&LabelSelector{MatchLabels:...".
std::string ShownSelector(const api::Optional<LabelSelector>& selector);

}  // namespace flyball::controllers
