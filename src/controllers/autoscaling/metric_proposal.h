// What each metric of an autoscaler asks for, with the status, conditions and event that go with it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/types/autoscaling.h"
#include "controllers/autoscaling/metric_reading.h"
#include "controllers/autoscaling/replica_calculator.h"

namespace flyball::controllers {

struct MetricProposal {
  std::int32_t replicas = 0;
  std::string metric;  // "cpu resource utilization (percentage of request)"
  MetricStatus status;
};

// Why a metric has no value.
struct MetricFailure {
  std::string reason;   // reason of the condition and the event: FailedGetResourceMetric
  std::string message;  // what went wrong
  std::string value;    // what is unavailable: "cpu resource metric value"
};

// The target of an autoscaler, as it is evaluated.
struct MetricTargets {
  std::int32_t spec_replicas = 0, status_replicas = 0;
  std::string selector;
  // "services" or "ingresses.networking.k8s.io", of an object that a metric is about.
  std::function<Result<std::string>(const CrossVersionObjectReference& object)> resource_of;
};

// One evaluation; thread-compatible. References must outlive it.
class MetricEvaluation {
 public:
  MetricEvaluation(const MetricReader& reader, const ReplicaCalculator& calculator,
                   const MetricTargets& targets)
      : reader_(reader), calculator_(calculator), targets_(targets) {}

  // Fills in one of the two.
  std::optional<MetricFailure> Propose(const MetricSpec& metric, MetricProposal& proposal) const;

 private:
  Status OfResource(const std::string& resource, const MetricTarget& target, const std::string& container,
                    MetricProposal& proposal, MetricValueStatus& current) const;
  Status OfPods(const PodsMetricSource& source, MetricProposal& proposal) const;
  Status OfObject(const ObjectMetricSource& source, MetricProposal& proposal) const;
  Status OfExternal(const ExternalMetricSource& source, MetricProposal& proposal) const;

  const MetricReader& reader_;
  const ReplicaCalculator& calculator_;
  const MetricTargets& targets_;
};

}  // namespace flyball::controllers
