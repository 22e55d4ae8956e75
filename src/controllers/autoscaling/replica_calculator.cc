#include "controllers/autoscaling/replica_calculator.h"

#include <cmath>
#include <limits>
#include <set>

#include "controllers/autoscaling/pod_request.h"

namespace flyball::controllers {
namespace {

std::int32_t CeilReplicas(double replicas) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(std::ceil(replicas), kMost));
}

const PodCondition* ReadyCondition(const Pod& pod) {
  for (const PodCondition& condition : pod.status.conditions)
    if (condition.type == "Ready") return &condition;
  return nullptr;
}

Error NoPods() {
  return Error(Reason::kNotFound, "no pods returned by selector while calculating replica count");
}

struct Ratio {
  double ratio = 0;
  std::int32_t utilization = 0;
  std::int64_t average = 0;
};

// Upstream: GetResourceUtilizationRatio.
Result<Ratio> UtilizationRatio(const PodMetricValues& metrics,
                               const std::map<std::string, std::int64_t>& requests, std::int32_t target) {
  std::int64_t used = 0, requested = 0, count = 0;
  for (const auto& [name, metric] : metrics) {
    const auto request = requests.find(name);
    if (request == requests.end()) continue;
    used += metric.value;
    requested += request->second;
    ++count;
  }
  if (requested == 0) return Unexpected(InternalError("no metrics returned matched known pods"));
  const auto utilization = static_cast<std::int32_t>(used * 100 / requested);
  return Ratio{static_cast<double>(utilization) / target, utilization, used / count};
}

// Upstream: GetMetricUsageRatio.
Ratio UsageRatio(const PodMetricValues& metrics, std::int64_t target) {
  std::int64_t total = 0;
  for (const auto& [name, metric] : metrics) total += metric.value;
  const std::int64_t average = total / static_cast<std::int64_t>(metrics.size());
  return {static_cast<double>(average) / static_cast<double>(target), 0, average};
}

}  // namespace

struct ReplicaCalculator::Groups {
  int ready = 0;
  std::set<std::string> unready, missing, ignored;

  void DropFrom(PodMetricValues& metrics) const {
    for (const auto* names : {&ignored, &unready})
      for (const std::string& name : *names) metrics.erase(name);
  }
};

bool ReplicaCalculator::IsUnready(const Pod& pod, const PodMetric& metric) const {
  const PodCondition* const ready = ReadyCondition(pod);
  if (!ready || !pod.status.start_time) return true;
  const TimePoint started = pod.status.start_time->ToTimePoint();
  const TimePoint changed =
      ready->last_transition_time ? ready->last_transition_time->ToTimePoint() : TimePoint{};
  // Within its time to begin, a sample counts if it is of after the pod became ready; afterwards, unless the
  // pod has never been ready.
  if (started + kCpuInitialization > now_)
    return ready->status == "False" || metric.at < changed + metric.window;
  return ready->status == "False" && started + kInitialReadiness > changed;
}

ReplicaCalculator::Groups ReplicaCalculator::GroupPods(const PodMetricValues& metrics,
                                                       const std::string& resource) const {
  Groups groups;
  for (const auto& pod : pods_) {
    const std::string& name = pod->metadata.name;
    const auto metric = metrics.find(name);
    if (pod->metadata.deletion_timestamp || pod->status.phase == "Failed")
      groups.ignored.insert(name);
    else if (pod->status.phase == "Pending")
      groups.unready.insert(name);
    else if (metric == metrics.end())
      groups.missing.insert(name);
    else if (resource == "cpu" && IsUnready(*pod, metric->second))
      groups.unready.insert(name);
    else
      ++groups.ready;
  }
  return groups;
}

Result<std::map<std::string, std::int64_t>> ReplicaCalculator::Requests(const std::string& resource,
                                                                        const std::string& container) const {
  std::map<std::string, std::int64_t> requests;
  for (const auto& pod : pods_) {
    FLYBALL_ASSIGN(requests[pod->metadata.name], RequestOf(*pod, resource, container));
  }
  return requests;
}

// After assumptions about pods were made: no change if it would be small, or in the other direction.
std::int32_t ReplicaCalculator::Settle(std::int32_t current, double ratio, double second_ratio,
                                       std::size_t counted) const {
  if (tolerances_.Holds(second_ratio) || (ratio < 1.0 && second_ratio > 1.0) ||
      (ratio > 1.0 && second_ratio < 1.0))
    return current;
  const std::int32_t wanted = CeilReplicas(second_ratio * static_cast<double>(counted));
  if ((second_ratio < 1.0 && wanted > current) || (second_ratio > 1.0 && wanted < current)) return current;
  return wanted;
}

Result<ProposedReplicas> ReplicaCalculator::ByUtilization(PodMetricValues metrics, std::int32_t current,
                                                          std::int32_t target, const std::string& resource,
                                                          const std::string& container) const {
  if (pods_.empty()) return Unexpected(NoPods());
  const Groups groups = GroupPods(metrics, resource);
  groups.DropFrom(metrics);
  if (metrics.empty())
    return Unexpected(
        Error(Reason::kNotFound, "did not receive metrics for targeted pods (pods might be unready)"));
  FLYBALL_ASSIGN(const auto requests, Requests(resource, container));
  FLYBALL_ASSIGN(const Ratio measured, UtilizationRatio(metrics, requests, target));
  ProposedReplicas proposed{current, measured.average, measured.utilization};
  const bool up_with_unready = !groups.unready.empty() && measured.ratio > 1.0;
  if (!up_with_unready && groups.missing.empty()) {
    if (!tolerances_.Holds(measured.ratio)) proposed.replicas = CeilReplicas(measured.ratio * groups.ready);
    return proposed;
  }
  // Those without metrics are assumed to use everything on the way down, and nothing on the way up.
  const std::int64_t fallback = std::max(100, target);
  for (const std::string& name : groups.missing) {
    if (measured.ratio < 1.0) metrics[name] = {.value = requests.at(name) * fallback / 100};
    if (measured.ratio > 1.0) metrics[name] = {};
  }
  if (up_with_unready)
    for (const std::string& name : groups.unready) metrics[name] = {};
  FLYBALL_ASSIGN(const Ratio second, UtilizationRatio(metrics, requests, target));
  proposed.replicas = Settle(current, measured.ratio, second.ratio, metrics.size());
  return proposed;
}

Result<ProposedReplicas> ReplicaCalculator::ByValue(PodMetricValues metrics, std::int32_t current,
                                                    std::int64_t target, const std::string& resource) const {
  if (pods_.empty()) return Unexpected(NoPods());
  const Groups groups = GroupPods(metrics, resource);
  groups.DropFrom(metrics);
  if (metrics.empty())
    return Unexpected(
        Error(Reason::kNotFound, "did not receive metrics for targeted pods (pods might be unready)"));
  const Ratio measured = UsageRatio(metrics, target);
  ProposedReplicas proposed{current, measured.average};
  const bool up_with_unready = !groups.unready.empty() && measured.ratio > 1.0;
  if (!up_with_unready && groups.missing.empty()) {
    if (!tolerances_.Holds(measured.ratio)) proposed.replicas = CeilReplicas(measured.ratio * groups.ready);
    return proposed;
  }
  for (const std::string& name : groups.missing) {
    if (measured.ratio < 1.0) metrics[name] = {.value = target};
    if (measured.ratio > 1.0) metrics[name] = {};
  }
  if (up_with_unready)
    for (const std::string& name : groups.unready) metrics[name] = {};
  proposed.replicas = Settle(current, measured.ratio, UsageRatio(metrics, target).ratio, metrics.size());
  return proposed;
}

Result<ProposedReplicas> ReplicaCalculator::ByTotal(std::int64_t usage, std::int32_t current,
                                                    std::int64_t target) const {
  const double ratio = static_cast<double>(usage) / static_cast<double>(target);
  // To nothing and from nothing, whatever the tolerance.
  if (current == 0) return ProposedReplicas{CeilReplicas(ratio), usage};
  if (tolerances_.Holds(ratio)) return ProposedReplicas{current, usage};
  if (pods_.empty())
    return Unexpected(InternalError("unable to calculate ready pods: " + NoPods().message()));
  int ready = 0;
  for (const auto& pod : pods_) {
    const PodCondition* const condition = ReadyCondition(*pod);
    if (pod->status.phase == "Running" && condition && condition->status == "True") ++ready;
  }
  return ProposedReplicas{CeilReplicas(ratio * ready), usage};
}

ProposedReplicas ReplicaCalculator::ByTotalPerPod(std::int64_t usage, std::int32_t current,
                                                  std::int64_t target) const {
  const double ratio = static_cast<double>(usage) / (static_cast<double>(target) * current);
  ProposedReplicas proposed{current, usage};
  if (!tolerances_.Holds(ratio))
    proposed.replicas = CeilReplicas(static_cast<double>(usage) / static_cast<double>(target));
  if (current > 0) proposed.usage = (usage + current - 1) / current;
  return proposed;
}

}  // namespace flyball::controllers
