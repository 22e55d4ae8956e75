// Placement: the decision for one pod, as a pure function of a snapshot.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/run/random.h"
#include "scheduler/devices/pod_devices.h"
#include "scheduler/filter/filters.h"
#include "scheduler/score/scores.h"
#include "scheduler/snapshot/snapshot.h"
#include "scheduler/volumes/pod_volumes.h"

namespace flyball::scheduler {

// Where a pod goes, or why it cannot be placed.
struct Placement {
  std::string node;               // empty: no node
  std::vector<NodeScore> scores;  // if more than one node is feasible; valid as long as the snapshot
  std::map<std::string, Rejection> rejections;  // by node; omits nodes that were not looked at
  std::string conflict;                         // what rules the pod out on every node
  std::string message;                          // "0/3 nodes are available: ...", without preemption's part
};

// `group`: the pods it is spread with if it has no constraints itself. `start`: where to start the search;
// advanced to where this search ended, so that in large clusters every node gets its turn.
// `devices`, `volumes`: the pod's resource claims and its volume claims; null if it has none.
Placement Place(const PodInfo& pod, const api::Optional<LabelSelector>& group, const Snapshot& snapshot,
                Random& random, std::size_t& start, PodDevices* devices = nullptr,
                PodVolumes* volumes = nullptr);

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
std::string FitMessage(std::size_t nodes, const std::map<std::string, int>& reasons);

}  // namespace flyball::scheduler
