// Placement: the decision for one pod, as a pure function of a snapshot.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/run/random.h"
#include "scheduler/filter/filters.h"
#include "scheduler/score/scores.h"
#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

// Where a pod goes, or why nowhere.
struct Placement {
  std::string node;               // empty: nowhere
  std::vector<NodeScore> scores;  // if more than one node would do; good as long as the snapshot
  std::map<std::string, Rejection> rejections;  // by node; without those that were never looked at
  std::string conflict;                         // what rules the pod out whatever the node
  std::string message;                          // "0/3 nodes are available: ...", without preemption's part
};

// `group`: the pods it is spread with if it says nothing itself. `start`: where to begin looking, moved on to
// where this search ended, so that in large clusters every node gets its turn.
Placement Place(const PodInfo& pod, const api::Optional<LabelSelector>& group, const Snapshot& snapshot,
                Random& random, std::size_t& start);

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
std::string FitMessage(std::size_t nodes, const std::map<std::string, int>& reasons);

}  // namespace flyball::scheduler
