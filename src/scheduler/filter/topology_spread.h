// Spreads pods over zones, nodes and other topologies (upstream: PodTopologySpread).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// A constraint with its complete selector.
struct SpreadConstraint {
  std::int32_t max_skew = 1;
  std::string topology_key;
  api::Optional<LabelSelector> selector;
  std::int32_t min_domains = 1;
  bool honor_affinity = true, honor_taints = false;

  bool Matches(const Pod& pod, const std::string& ns) const;
  // Whether a node is counted for `pod`.
  bool Includes(const Pod& pod, const Node& node) const;
};
// The constraints of a pod with that `whenUnsatisfiable`.
std::vector<SpreadConstraint> ConstraintsOf(const Pod& pod, const std::string& when_unsatisfiable);

// The DoNotSchedule constraints. Pods can be added and removed again. Confined to one attempt; borrows.
class TopologySpreadFilter {
 public:
  TopologySpreadFilter(const PodInfo& pod, const Snapshot& snapshot);

  void AddPod(const PodInfo& other, const NodeInfo& node) { Count(other, node, 1); }
  void RemovePod(const PodInfo& other, const NodeInfo& node) { Count(other, node, -1); }

  struct Verdict {
    const char* reason = nullptr;  // null: the node is feasible
    bool unresolvable = false;
  };
  Verdict Check(const NodeInfo& node) const;

 private:
  struct Counted {
    SpreadConstraint constraint;
    std::map<std::string, std::int64_t> domains;  // matching pods by topology value
    bool matches_self = false;
  };
  bool HasAllKeys(const NodeInfo& node) const;
  void Count(const PodInfo& other, const NodeInfo& node, std::int64_t delta);
  static std::int64_t Fewest(const Counted& counted);

  const PodInfo& pod_;
  std::vector<Counted> constraints_;
};

// Scores of the ScheduleAnyway constraints, 0 to 100. If the pod has none, `group` (the pods of the same
// Service or owner) is spread over hosts and zones. Nothing if there is neither.
std::optional<std::vector<std::int64_t>> TopologySpreadScores(const PodInfo& pod,
                                                              const api::Optional<LabelSelector>& group,
                                                              const Snapshot& snapshot,
                                                              const std::vector<const NodeInfo*>& feasible);

}  // namespace flyball::scheduler
