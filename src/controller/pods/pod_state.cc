#include "controller/pods/pod_state.h"

#include <algorithm>

#include "controller/objects/owner.h"

namespace flyball::controllers {

bool IsPodFinished(const Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool IsPodActive(const Pod& pod) {
  return !IsPodFinished(pod) && !IsDeleting(pod.metadata);
}

bool IsPodReady(const Pod& pod) {
  return IsConditionTrue(pod.status.conditions, "Ready");
}

std::optional<api::Time> ReadyTransition(const Pod& pod) {
  const PodCondition* ready = FindCondition(pod.status.conditions, "Ready");
  return ready ? ready->last_transition_time : std::nullopt;
}

std::optional<Duration> TimeUntilAvailable(const Pod& pod, int min_ready_seconds, TimePoint now) {
  if (!IsPodReady(pod)) return std::nullopt;
  if (min_ready_seconds <= 0) return Duration::zero();
  const std::optional<api::Time> since = ReadyTransition(pod);
  // Ready, but since an unknown time: not available until that is known.
  if (!since) return std::nullopt;
  return since->ToTimePoint() + std::chrono::seconds(min_ready_seconds) - now;
}

bool IsPodAvailable(const Pod& pod, int min_ready_seconds, TimePoint now) {
  const auto left = TimeUntilAvailable(pod, min_ready_seconds, now);
  return left && *left <= Duration::zero();
}

int MaxRestarts(const Pod& pod) {
  int most = 0;
  for (const ContainerStatus& status : pod.status.container_statuses)
    most = std::max(most, status.restart_count);
  return most;
}

}  // namespace flyball::controllers
