// Sums over, and choices among, the ReplicaSets of a Deployment.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/apps.h"

namespace flyball::controllers {

// Changed in place as the rollout scales them, so that each step counts what the ones before it did.
using ReplicaSetPtr = std::shared_ptr<ReplicaSet>;
using ReplicaSets = std::vector<ReplicaSetPtr>;

// What a Deployment has: the ReplicaSet of its current template, if it exists, and the others.
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
// Those that are left of the available ones when each set has come down to its size: its status may be of the
// time before.
int AvailableWhenScaled(const ReplicaSets& sets);
// At most so many pods exist while each set is on its way to its size.
int PodsWhileScaling(const ReplicaSets& sets);
// Each status is of the size that was asked for last.
bool IsObserved(const ReplicaSets& sets);
// Those that should have pods.
ReplicaSets Active(const ReplicaSets& sets);
// Oldest first; by name among those of one second.
void SortByAge(ReplicaSets& sets);

// The one ReplicaSet that a change of size goes to: the only active one, or the latest if none is. Null if
// several are active, or there is none.
ReplicaSetPtr ActiveOrLatest(const Rollout& rollout);

// Equal but for the label pod-template-hash.
bool SameTemplate(const PodTemplateSpec& a, const PodTemplateSpec& b);
// The oldest of those that have the Deployment's template. Null if none has.
ReplicaSetPtr FindNew(const Deployment& deployment, const ReplicaSets& sets);

// Limits of a rollout as numbers of pods; a Deployment that recreates has neither.
struct RolloutLimits {
  int max_surge = 0;
  int max_unavailable = 0;
};
RolloutLimits LimitsOf(const Deployment& deployment);
bool IsRollingUpdate(const Deployment& deployment);
int DesiredReplicas(const Deployment& deployment);

// How many pods the latest ReplicaSet may have now, given all the others. Pods that a set still has to get
// rid of count: there are never more than the surge allows, not even for a moment.
int NewReplicas(const Deployment& deployment, const ReplicaSets& all, const ReplicaSet& latest);

}  // namespace flyball::controllers
