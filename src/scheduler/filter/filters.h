// Filters: decide whether a pod can run on a node at all. They run in upstream's order; the first that fails
// gives the reasons.
#pragma once

#include <string>
#include <vector>

#include "scheduler/filter/pod_affinity.h"
#include "scheduler/filter/topology_spread.h"
#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// Why a node is not feasible. Without reasons, it is feasible.
struct Rejection {
  std::vector<std::string> reasons;
  bool unresolvable = false;  // evicting pods from the node cannot change that

  bool ok() const { return reasons.empty(); }
};

// Filters that look only at the node: cordons, names, taints, node affinity, ports, resources.
Rejection CheckNode(const PodInfo& pod, const NodeInfo& node);

// All filters, for one pod to place. Confined to one attempt; borrows the pod and the snapshot.
class FilterState {
 public:
  FilterState(const PodInfo& pod, const Snapshot& snapshot)
      : pod_(pod), snapshot_(snapshot), spread_(pod, snapshot), affinity_(pod, snapshot) {}

  // The pod must fit with the pods that are nominated to the node with the same or a higher priority, and
  // also without them.
  Rejection Check(const NodeInfo& node) const;
  // Copies can be modified to try a change.
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
