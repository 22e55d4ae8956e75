// Pod affinity and anti-affinity (upstream: InterPodAffinity): what the pod requires of other pods, and what
// pods already placed require of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// The counts of the required terms, for one pod to place. Pods can be added and removed again, which
// preemption uses to try evictions. Confined to one attempt; borrows the pod and the namespaces.
class PodAffinityFilter {
 public:
  PodAffinityFilter(const PodInfo& pod, const Snapshot& snapshot);

  void AddPod(const PodInfo& other, const NodeInfo& node) { Count(other, node, 1); }
  void RemovePod(const PodInfo& other, const NodeInfo& node) { Count(other, node, -1); }

  struct Verdict {
    const char* reason = nullptr;  // null: the node is feasible
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

// Sums of the preferred terms of both sides per node (plus 1 for each required affinity term of pods already
// placed), not yet normalised. Nothing if no term applies.
std::optional<std::vector<std::int64_t>> PodAffinityScores(const PodInfo& pod, const Snapshot& snapshot,
                                                           const std::vector<const NodeInfo*>& feasible);

}  // namespace flyball::scheduler
