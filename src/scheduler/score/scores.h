// Scores: which of the nodes that will do is best. Upstream's plugins and weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

struct NodeScore {
  const NodeInfo* node = nullptr;
  std::int64_t total = 0;
  // What each plugin contributed, already weighted; one that had nothing to say is absent.
  std::map<std::string, std::int64_t> plugins;
};

// `group`: see TopologySpreadScores.
std::vector<NodeScore> ScoreNodes(const PodInfo& pod, const api::Optional<LabelSelector>& group,
                                  const Snapshot& snapshot, const std::vector<const NodeInfo*>& feasible);

}  // namespace flyball::scheduler
