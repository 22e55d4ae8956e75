// Decides how many pods each ReplicaSet of a Deployment gets.
#include <algorithm>
#include <cmath>

#include "controllers/deployment/annotations.h"
#include "controllers/deployment/deployment_sync.h"

namespace flyball::controllers {
namespace {

// The new ReplicaSet alone has all requested pods, and they work.
bool IsSaturated(const Deployment& deployment, const ReplicaSetPtr& rs) {
  if (!rs) return false;
  const int desired = DesiredReplicas(deployment);
  return IntAnnotation(rs->metadata, kDesiredReplicas) == desired && SpecReplicas(*rs) == desired &&
         rs->status.available_replicas == desired;
}

// The ReplicaSet's share of the change, before the shares are fitted to the total.
int Fraction(const ReplicaSet& rs, const Deployment& deployment) {
  const int desired = DesiredReplicas(deployment);
  if (desired == 0) return -SpecReplicas(rs);
  const int max_now = desired + LimitsOf(deployment).max_surge;
  std::int64_t max_before = IntAnnotation(rs.metadata, kMaxReplicas).value_or(0);
  if (max_before <= 0) max_before = deployment.status.replicas;
  if (max_before <= 0) return 0;
  const double size = static_cast<double>(SpecReplicas(rs)) * max_now / static_cast<double>(max_before);
  return static_cast<int>(std::lround(size)) - SpecReplicas(rs);
}

int Proportion(const ReplicaSet& rs, const Deployment& deployment, int to_add, int added) {
  if (SpecReplicas(rs) == 0 || to_add == 0 || to_add == added) return 0;
  const int left = to_add - added;
  const int fraction = Fraction(rs, deployment);
  return to_add > 0 ? std::min(fraction, left) : std::max(fraction, left);
}

// No ReplicaSet still has pods to delete; otherwise there would be too many if another grew now.
bool IsAtRest(const ReplicaSets& sets) {
  return IsObserved(sets) && PodsWhileScaling(sets) <= SpecReplicas(sets);
}

// Largest first; among equal ones, the newer first when growing, the older first when shrinking.
void SortBySize(ReplicaSets& sets, bool newer_first) {
  SortByAge(sets);
  if (newer_first) std::reverse(sets.begin(), sets.end());
  std::stable_sort(sets.begin(), sets.end(), [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) {
    return SpecReplicas(*a) > SpecReplicas(*b);
  });
}

}  // namespace

Result<bool> DeploymentSync::ScaleTo(ReplicaSet& rs, int replicas) {
  return SpecReplicas(rs) == replicas ? false : Resize(rs, replicas);
}

Result<bool> DeploymentSync::Resize(ReplicaSet& rs, int replicas) {
  const int desired = DesiredReplicas(deployment_);
  const int before = SpecReplicas(rs);
  ReplicaSet wanted = rs;
  const bool noted = SetReplicasAnnotations(wanted, desired, desired + LimitsOf(deployment_).max_surge);
  if (before == replicas && !noted) return false;
  wanted.spec.replicas = replicas;
  FLYBALL_ASSIGN(rs, ctx_.client().Update(wanted));
  if (before == replicas) return false;
  ctx_.recorder().Normal(deployment_, "ScalingReplicaSet",
                         std::string("Scaled ") + (before < replicas ? "up" : "down") + " replica set " +
                             rs.metadata.name + " from " + std::to_string(before) + " to " +
                             std::to_string(replicas));
  return true;
}

Status DeploymentSync::ScaleProportionally(const Rollout& rollout) {
  if (const ReplicaSetPtr only = ActiveOrLatest(rollout)) {
    if (DesiredReplicas(deployment_) > SpecReplicas(*only) && !IsAtRest(rollout.all())) return {};
    FLYBALL_TRY(Resize(*only, DesiredReplicas(deployment_)));
    return {};
  }
  if (IsSaturated(deployment_, rollout.latest)) {
    for (const ReplicaSetPtr& rs : Active(rollout.old)) FLYBALL_TRY(ScaleTo(*rs, 0));
    return {};
  }
  if (IsRollingUpdate(deployment_)) return Spread(rollout);
  return {};
}

Status DeploymentSync::Spread(const Rollout& rollout) {
  ReplicaSets active = Active(rollout.all());
  if (active.empty()) return {};
  const int desired = DesiredReplicas(deployment_);
  const int allowed = desired > 0 ? desired + LimitsOf(deployment_).max_surge : 0;
  const int to_add = allowed - SpecReplicas(active);
  if (to_add > 0 && !IsAtRest(rollout.all())) return {};
  SortBySize(active, to_add > 0);
  std::vector<int> sizes;
  int added = 0;
  for (const ReplicaSetPtr& rs : active) {
    const int part = Proportion(*rs, deployment_, to_add, added);
    sizes.push_back(SpecReplicas(*rs) + part);
    added += part;
  }
  // The rounding remainder goes to the largest.
  sizes[0] = std::max(0, sizes[0] + to_add - added);
  for (std::size_t i = 0; i < active.size(); ++i) FLYBALL_TRY(Resize(*active[i], sizes[i]));
  return {};
}

Result<bool> DeploymentSync::ScaleUpLatest(const Rollout& rollout) {
  ReplicaSet& latest = *rollout.latest;
  const int desired = DesiredReplicas(deployment_);
  if (SpecReplicas(latest) == desired) return false;
  if (SpecReplicas(latest) > desired) return ScaleTo(latest, desired);
  return ScaleTo(latest, NewReplicas(deployment_, rollout.all(), latest));
}

Result<bool> DeploymentSync::ScaleDownOld(const Rollout& rollout) {
  ReplicaSets old = Active(rollout.old);
  if (old.empty()) return false;
  const int fewest = DesiredReplicas(deployment_) - LimitsOf(deployment_).max_unavailable;
  const int new_unavailable = SpecReplicas(*rollout.latest) - rollout.latest->status.available_replicas;
  const int at_most = SpecReplicas(rollout.all()) - fewest - new_unavailable;
  if (at_most <= 0) return false;
  SortByAge(old);
  // Pods that do not work go first; otherwise a failed rollout could never be replaced.
  FLYBALL_ASSIGN(const int dropped, DropUnhealthy(old, at_most));
  FLYBALL_ASSIGN(const bool scaled, DropAvailable(rollout, old));
  return dropped > 0 || scaled;
}

Result<int> DeploymentSync::DropUnhealthy(ReplicaSets& old, int at_most) {
  int dropped = 0;
  for (const ReplicaSetPtr& rs : old) {
    const int size = SpecReplicas(*rs);
    const int unhealthy = std::min(at_most - dropped, size - rs->status.available_replicas);
    if (unhealthy <= 0) continue;
    FLYBALL_TRY(ScaleTo(*rs, size - unhealthy));
    dropped += unhealthy;
  }
  return dropped;
}

Result<bool> DeploymentSync::DropAvailable(const Rollout& rollout, ReplicaSets& old) {
  const int fewest = DesiredReplicas(deployment_) - LimitsOf(deployment_).max_unavailable;
  int surplus = AvailableWhenScaled(rollout.all()) - fewest;
  bool scaled = false;
  for (const ReplicaSetPtr& rs : old) {
    const int part = std::min(surplus, SpecReplicas(*rs));
    if (part <= 0) continue;
    FLYBALL_TRY(ScaleTo(*rs, SpecReplicas(*rs) - part));
    surplus -= part;
    scaled = true;
  }
  return scaled;
}

}  // namespace flyball::controllers
