// Filters: can this pod run on that node at all? In upstream's order; the first that says no gives the
// reasons.
#pragma once

#include <string>
#include <vector>

#include "scheduler/filter/pod_affinity.h"
#include "scheduler/filter/topology_spread.h"
#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// Why a node will not do. Without reasons: it will.
struct Rejection {
  std::vector<std::string> reasons;
  bool unresolvable = false;  // evicting pods from the node cannot change it

  bool ok() const { return reasons.empty(); }
};

// Filters that look at the node alone: cordons, names, taints, node affinity, ports, resources.
Rejection CheckNode(const PodInfo& pod, const NodeInfo& node);

// All filters, for one pod to place. Confined to its attempt; borrows the pod and the snapshot.
class FilterState {
 public:
  FilterState(const PodInfo& pod, const Snapshot& snapshot)
      : pod_(pod), snapshot_(snapshot), spread_(pod, snapshot), affinity_(pod, snapshot) {}

  // As if the pods nominated to the node by no lower priority were there, and as if they were not.
  Rejection Check(const NodeInfo& node) const;
  // Copies can be told "what if".
  void AddPod(const PodInfo& other, const NodeInfo& node);
  void RemovePod(const PodInfo& other, const NodeInfo& node);

 private:
  Rejection CheckOnce(const NodeInfo& node) const;

  const PodInfo& pod_;
  const Snapshot& snapshot_;
  TopologySpreadFilter spread_;
  PodAffinityFilter affinity_;
};

}  // namespace flyball::scheduler
