#include "controllers/deployment/deployment_status.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "controller/objects/condition.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

constexpr char kProgressing[] = "Progressing";
constexpr char kReplicaFailure[] = "ReplicaFailure";

// There was progress since the status was last written: more new pods, fewer old ones, more ready or
// available.
bool HasProgressed(const DeploymentStatus& before, const DeploymentStatus& now) {
  return now.updated_replicas > before.updated_replicas ||
         now.replicas - now.updated_replicas < before.replicas - before.updated_replicas ||
         now.ready_replicas > before.ready_replicas || now.available_replicas > before.available_replicas;
}

bool HasTimedOut(const Deployment& deployment, const DeploymentStatus& status, TimePoint now) {
  const DeploymentCondition* progress = FindCondition(status.conditions, kProgressing);
  if (!progress || progress->reason == kNewReplicaSetAvailable) return false;
  if (progress->reason == kTimedOut) return true;
  const TimePoint since = progress->last_update_time.value_or(api::Time{}).ToTimePoint();
  return since + std::chrono::seconds(*deployment.spec.progress_deadline_seconds) < now;
}

std::string Subject(const Deployment& deployment, const Rollout& rollout) {
  return rollout.latest ? "ReplicaSet \"" + rollout.latest->metadata.name + "\""
                        : "Deployment \"" + deployment.metadata.name + "\"";
}

void SetProgressing(const Deployment& deployment, const Rollout& rollout, TimePoint now,
                    DeploymentStatus& status) {
  const DeploymentCondition* current = FindCondition(deployment.status.conditions, kProgressing);
  const bool settled =
      status.replicas == status.updated_replicas && current && current->reason == kNewReplicaSetAvailable;
  if (settled) return;
  const std::string subject = Subject(deployment, rollout);
  if (IsComplete(deployment, status)) {
    SetDeploymentCondition(
        status, MakeCondition<DeploymentCondition>(kProgressing, "True", kNewReplicaSetAvailable,
                                                   subject + " has successfully progressed.", now));
  } else if (HasProgressed(deployment.status, status)) {
    DeploymentCondition condition = MakeCondition<DeploymentCondition>(
        kProgressing, "True", kReplicaSetUpdated, subject + " is progressing.", now);
    if (current && current->status == "True") condition.last_transition_time = current->last_transition_time;
    // Removed first, because the deadline is counted from its update time, which must move.
    RemoveCondition(status.conditions, kProgressing);
    SetDeploymentCondition(status, std::move(condition));
  } else if (HasTimedOut(deployment, status, now)) {
    SetDeploymentCondition(status,
                           MakeCondition<DeploymentCondition>(kProgressing, "False", kTimedOut,
                                                              subject + " has timed out progressing.", now));
  }
}

const ReplicaSetCondition* FindFailure(const Rollout& rollout) {
  if (rollout.latest)
    if (const auto* failure = FindCondition(rollout.latest->status.conditions, kReplicaFailure))
      return failure;
  for (const ReplicaSetPtr& rs : rollout.old)
    if (const auto* failure = FindCondition(rs->status.conditions, kReplicaFailure)) return failure;
  return nullptr;
}

void SetReplicaFailure(const Rollout& rollout, DeploymentStatus& status) {
  const ReplicaSetCondition* failure = FindFailure(rollout);
  if (!failure) {
    RemoveCondition(status.conditions, kReplicaFailure);
    return;
  }
  DeploymentCondition condition;
  condition.type = kReplicaFailure;
  condition.status = failure->status;
  condition.reason = failure->reason;
  condition.message = failure->message;
  condition.last_transition_time = condition.last_update_time = failure->last_transition_time;
  SetDeploymentCondition(status, std::move(condition));
}

}  // namespace

void SetDeploymentCondition(DeploymentStatus& status, DeploymentCondition condition) {
  const DeploymentCondition* known = FindCondition(status.conditions, condition.type);
  if (known && known->status == condition.status && known->reason == condition.reason) return;
  if (known && known->status == condition.status)
    condition.last_transition_time = known->last_transition_time;
  RemoveCondition(status.conditions, condition.type);
  status.conditions.push_back(std::move(condition));
}

bool HasProgressDeadline(const Deployment& deployment) {
  return deployment.spec.progress_deadline_seconds &&
         *deployment.spec.progress_deadline_seconds != std::numeric_limits<std::int32_t>::max();
}

bool IsComplete(const Deployment& deployment, const DeploymentStatus& status) {
  const int desired = DesiredReplicas(deployment);
  return status.updated_replicas == desired && status.replicas == desired &&
         status.available_replicas == desired && status.observed_generation >= deployment.metadata.generation;
}

namespace {

// Unknown while a set that was seen has not said how many it has.
std::optional<std::int32_t> TerminatingReplicas(const ReplicaSets& sets) {
  std::int32_t sum = 0;
  for (const auto& rs : sets) {
    if (!rs->status.terminating_replicas && rs->status.observed_generation != 0) return std::nullopt;
    sum += rs->status.terminating_replicas.value_or(0);
  }
  return sum;
}

}  // namespace

DeploymentStatus CountedStatus(const Deployment& deployment, const Rollout& rollout, TimePoint now) {
  const ReplicaSets all = rollout.all();
  DeploymentStatus status;
  status.conditions = deployment.status.conditions;
  status.collision_count = deployment.status.collision_count;
  status.observed_generation = deployment.metadata.generation;
  status.replicas = StatusReplicas(all);
  status.updated_replicas = rollout.latest ? rollout.latest->status.replicas : 0;
  status.ready_replicas = ReadyReplicas(all);
  status.available_replicas = AvailableReplicas(all);
  status.terminating_replicas = TerminatingReplicas(all);
  status.unavailable_replicas = std::max(0, SpecReplicas(all) - status.available_replicas);
  const int fewest = DesiredReplicas(deployment) - LimitsOf(deployment).max_unavailable;
  SetDeploymentCondition(
      status,
      status.available_replicas >= fewest
          ? MakeCondition<DeploymentCondition>("Available", "True", "MinimumReplicasAvailable",
                                               "Deployment has minimum availability.", now)
          : MakeCondition<DeploymentCondition>("Available", "False", "MinimumReplicasUnavailable",
                                               "Deployment does not have minimum availability.", now));
  return status;
}

DeploymentStatus RolloutStatus(const Deployment& deployment, const Rollout& rollout, TimePoint now) {
  DeploymentStatus status = CountedStatus(deployment, rollout, now);
  if (HasProgressDeadline(deployment))
    SetProgressing(deployment, rollout, now, status);
  else
    RemoveCondition(status.conditions, kProgressing);
  SetReplicaFailure(rollout, status);
  return status;
}

std::optional<Duration> TimeUntilDeadline(const Deployment& deployment, const DeploymentStatus& status,
                                          TimePoint now) {
  const DeploymentCondition* progress = FindCondition(status.conditions, kProgressing);
  if (!HasProgressDeadline(deployment) || !progress || progress->reason == kTimedOut) return std::nullopt;
  if (IsComplete(deployment, status)) return std::nullopt;
  const TimePoint since = progress->last_update_time.value_or(api::Time{}).ToTimePoint();
  const Duration left = since + std::chrono::seconds(*deployment.spec.progress_deadline_seconds) - now;
  // One second more: times in objects are truncated to seconds, and checking too early would find nothing.
  return std::max(left, Duration::zero()) + std::chrono::seconds(1);
}

}  // namespace flyball::controllers
