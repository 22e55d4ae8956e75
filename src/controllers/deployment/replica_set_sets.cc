#include "controllers/deployment/replica_set_sets.h"

#include <algorithm>
#include <numeric>

#include "controllers/deployment/annotations.h"

namespace flyball::controllers {
namespace {

template <typename Fn>
int Sum(const ReplicaSets& sets, Fn fn) {
  return std::accumulate(sets.begin(), sets.end(), 0,
                         [&](int total, const ReplicaSetPtr& rs) { return rs ? total + fn(*rs) : total; });
}

int Scaled(const std::optional<api::IntOrString>& value, int total, bool round_up) {
  if (!value) return 0;
  const auto scaled = value->Scaled(total, round_up);
  return scaled ? static_cast<int>(*scaled) : 0;
}

}  // namespace

ReplicaSets Rollout::all() const {
  ReplicaSets sets = old;
  if (latest) sets.push_back(latest);
  return sets;
}

int SpecReplicas(const ReplicaSet& rs) {
  return rs.spec.replicas.value_or(1);
}
int SpecReplicas(const ReplicaSets& sets) {
  return Sum(sets, [](const ReplicaSet& rs) { return SpecReplicas(rs); });
}
int StatusReplicas(const ReplicaSets& sets) {
  return Sum(sets, [](const ReplicaSet& rs) { return rs.status.replicas; });
}
int ReadyReplicas(const ReplicaSets& sets) {
  return Sum(sets, [](const ReplicaSet& rs) { return rs.status.ready_replicas; });
}
int AvailableReplicas(const ReplicaSets& sets) {
  return Sum(sets, [](const ReplicaSet& rs) { return rs.status.available_replicas; });
}

int AvailableWhenScaled(const ReplicaSets& sets) {
  return Sum(sets,
             [](const ReplicaSet& rs) { return std::min(SpecReplicas(rs), rs.status.available_replicas); });
}
int PodsWhileScaling(const ReplicaSets& sets) {
  return Sum(sets, [](const ReplicaSet& rs) { return std::max(SpecReplicas(rs), rs.status.replicas); });
}
bool IsObserved(const ReplicaSets& sets) {
  return std::all_of(sets.begin(), sets.end(), [](const ReplicaSetPtr& rs) {
    return !rs || rs->status.observed_generation >= rs->metadata.generation;
  });
}

ReplicaSets Active(const ReplicaSets& sets) {
  ReplicaSets active;
  for (const ReplicaSetPtr& rs : sets)
    if (rs && SpecReplicas(*rs) > 0) active.push_back(rs);
  return active;
}

void SortByAge(ReplicaSets& sets) {
  std::sort(sets.begin(), sets.end(), [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) {
    const auto made_a = a->metadata.creation_timestamp, made_b = b->metadata.creation_timestamp;
    return made_a != made_b ? made_a < made_b : a->metadata.name < b->metadata.name;
  });
}

ReplicaSetPtr ActiveOrLatest(const Rollout& rollout) {
  const ReplicaSets active = Active(rollout.all());
  if (active.size() == 1) return active[0];
  if (active.size() > 1) return nullptr;
  if (rollout.latest) return rollout.latest;
  ReplicaSets old = rollout.old;
  SortByAge(old);
  return old.empty() ? nullptr : old.back();
}

bool SameTemplate(const PodTemplateSpec& a, const PodTemplateSpec& b) {
  if (a.spec != b.spec) return false;
  ObjectMeta left = a.metadata, right = b.metadata;
  left.labels.erase(kPodTemplateHash);
  right.labels.erase(kPodTemplateHash);
  return left == right;
}

ReplicaSetPtr FindNew(const Deployment& deployment, const ReplicaSets& sets) {
  ReplicaSets sorted = sets;
  SortByAge(sorted);
  for (const ReplicaSetPtr& rs : sorted)
    if (SameTemplate(rs->spec.template_, deployment.spec.template_)) return rs;
  return nullptr;
}

bool IsRollingUpdate(const Deployment& deployment) {
  return deployment.spec.strategy.type == "RollingUpdate";
}

int DesiredReplicas(const Deployment& deployment) {
  return deployment.spec.replicas.value_or(1);
}

RolloutLimits LimitsOf(const Deployment& deployment) {
  if (!IsRollingUpdate(deployment) || !deployment.spec.strategy.rolling_update) return {};
  const RollingUpdateDeployment& update = *deployment.spec.strategy.rolling_update;
  const int desired = DesiredReplicas(deployment);
  RolloutLimits limits{Scaled(update.max_surge, desired, true),
                       Scaled(update.max_unavailable, desired, false)};
  // If both were zero (25% of one pod rounds to that), the rollout would never progress.
  if (limits.max_surge == 0 && limits.max_unavailable == 0) limits.max_unavailable = 1;
  limits.max_unavailable = std::min(limits.max_unavailable, desired);
  return limits;
}

int NewReplicas(const Deployment& deployment, const ReplicaSets& all, const ReplicaSet& latest) {
  const int desired = DesiredReplicas(deployment);
  if (!IsRollingUpdate(deployment)) return desired;
  const int most = desired + LimitsOf(deployment).max_surge;
  const int room = most - PodsWhileScaling(all);
  if (room <= 0 || !IsObserved(all)) return SpecReplicas(latest);
  return SpecReplicas(latest) + std::min(room, desired - SpecReplicas(latest));
}

}  // namespace flyball::controllers
