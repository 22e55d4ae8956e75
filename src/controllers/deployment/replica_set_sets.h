// Sums over, and choices among, the ReplicaSets of a Deployment.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/apps.h"

namespace flyball::controllers {

// Modified in place as the rollout scales them, so that each step counts the effect of the previous ones.
using ReplicaSetPtr = std::shared_ptr<ReplicaSet>;
using ReplicaSets = std::vector<ReplicaSetPtr>;

// The ReplicaSets of a Deployment: the one of its current template, if it exists, and the others.
struct Rollout {
  ReplicaSetPtr latest;
  ReplicaSets old;

  ReplicaSets all() const;
};

int SpecReplicas(const ReplicaSet& rs);
int SpecReplicas(const ReplicaSets& sets);
int StatusReplicas(const ReplicaSets& sets);
int ReadyReplicas(const ReplicaSets& sets);
int AvailableReplicas(const ReplicaSets& sets);
// How many of the available pods remain when each set has shrunk to its size; its status may be older than
// the size.
int AvailableWhenScaled(const ReplicaSets& sets);
// The most pods that can exist while each set moves to its size.
int PodsWhileScaling(const ReplicaSets& sets);
// Whether each status reflects the size that was requested last.
bool IsObserved(const ReplicaSets& sets);
// The sets that should have pods.
ReplicaSets Active(const ReplicaSets& sets);
// Oldest first; by name among those of one second.
void SortByAge(ReplicaSets& sets);

// The one ReplicaSet that a change of size goes to: the only active one, or the latest if none is active.
// Null if several are active, or there is none.
ReplicaSetPtr ActiveOrLatest(const Rollout& rollout);

// Equal except for the label pod-template-hash.
bool SameTemplate(const PodTemplateSpec& a, const PodTemplateSpec& b);
// The oldest ReplicaSet with the Deployment's template. Null if there is none.
ReplicaSetPtr FindNew(const Deployment& deployment, const ReplicaSets& sets);

// Limits of a rollout as numbers of pods; both are zero for the Recreate strategy.
struct RolloutLimits {
  int max_surge = 0;
  int max_unavailable = 0;
};
RolloutLimits LimitsOf(const Deployment& deployment);
bool IsRollingUpdate(const Deployment& deployment);
int DesiredReplicas(const Deployment& deployment);

// How many pods the latest ReplicaSet may have now, given all the others. Pods that a set still has to delete
// count, so there are never more than the surge allows, not even for a moment.
int NewReplicas(const Deployment& deployment, const ReplicaSets& all, const ReplicaSet& latest);

}  // namespace flyball::controllers
