// ReplicaCalculator: how many pods a metric asks for (upstream: podautoscaler.ReplicaCalculator). Pods that
// are not ready, have no metrics or are going are left out, or assumed to need what keeps the number from
// moving too far.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "controllers/autoscaling/metric_reading.h"

namespace flyball::controllers {

// How far from the target, as a share of it, is close enough.
struct Tolerances {
  double down = 0.1, up = 0.1;  // upstream: --horizontal-pod-autoscaler-tolerance
  bool Holds(double ratio) const { return 1.0 - down <= ratio && ratio <= 1.0 + up; }
};

struct ProposedReplicas {
  std::int32_t replicas = 0;
  std::int64_t usage = 0;        // a pod, on average, or in all
  std::int32_t utilization = 0;  // in percent of what is requested
};

// A value for one evaluation; thread-compatible.
class ReplicaCalculator {
 public:
  // Upstream: --horizontal-pod-autoscaler-cpu-initialization-period and -initial-readiness-delay.
  static constexpr Duration kCpuInitialization = std::chrono::minutes(5);
  static constexpr Duration kInitialReadiness = std::chrono::seconds(30);

  using Pods = std::vector<std::shared_ptr<const Pod>>;
  ReplicaCalculator(Pods pods, const Tolerances& tolerances, TimePoint now)
      : pods_(std::move(pods)), tolerances_(tolerances), now_(now) {}

  // `metrics` in percent of what the pods (or the container of that name) request.
  Result<ProposedReplicas> ByUtilization(PodMetricValues metrics, std::int32_t current, std::int32_t target,
                                         const std::string& resource, const std::string& container) const;
  // `metrics` as they are. `resource` may be empty: not one of a resource.
  Result<ProposedReplicas> ByValue(PodMetricValues metrics, std::int32_t current, std::int64_t target,
                                   const std::string& resource) const;
  // A number that all pods share.
  Result<ProposedReplicas> ByTotal(std::int64_t usage, std::int32_t current, std::int64_t target) const;
  // One of which each pod takes a part.
  ProposedReplicas ByTotalPerPod(std::int64_t usage, std::int32_t current, std::int64_t target) const;

 private:
  struct Groups;
  Groups GroupPods(const PodMetricValues& metrics, const std::string& resource) const;
  bool IsUnready(const Pod& pod, const PodMetric& metric) const;
  Result<std::map<std::string, std::int64_t>> Requests(const std::string& resource,
                                                       const std::string& container) const;
  std::int32_t Settle(std::int32_t current, double ratio, double second_ratio, std::size_t counted) const;

  const Pods pods_;
  const Tolerances tolerances_;
  const TimePoint now_;
};

}  // namespace flyball::controllers
