// Pod affinity and anti-affinity (upstream: InterPodAffinity): what the pod wants near or far, and what pods
// already placed want of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// What the required terms count, for one pod to place. Pods can be added and taken away again, which is how
// preemption asks "what if". Confined to its attempt; borrows the pod and the namespaces.
class PodAffinityFilter {
 public:
  PodAffinityFilter(const PodInfo& pod, const Snapshot& snapshot);

  void AddPod(const PodInfo& other, const NodeInfo& node) { Count(other, node, 1); }
  void RemovePod(const PodInfo& other, const NodeInfo& node) { Count(other, node, -1); }

  struct Verdict {
    const char* reason = nullptr;  // null: the node will do
    bool unresolvable = false;     // removing pods cannot help
  };
  Verdict Check(const NodeInfo& node) const;

 private:
  void Count(const PodInfo& other, const NodeInfo& node, std::int64_t delta);
  void CountExistingAnti(const PodInfo& other, const NodeInfo& node, std::int64_t delta);
  bool MatchesAll(const Pod& other) const;
  bool AffinityHolds(const NodeInfo& node) const;

  const PodInfo& pod_;
  const NamespaceLabels& namespaces_;
  TopologyCounts affinity_, anti_affinity_, existing_anti_;
};

// Sums of the preferred terms of both sides for each node (and 1 for each required affinity term of pods
// placed already), not yet normalised. Nothing if no term has a say.
std::optional<std::vector<std::int64_t>> PodAffinityScores(const PodInfo& pod, const Snapshot& snapshot,
                                                           const std::vector<const NodeInfo*>& feasible);

}  // namespace flyball::scheduler
