// Scores: rank the feasible nodes, with upstream's plugins and weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/snapshot/snapshot.h"

namespace flyball::scheduler {

struct NodeScore {
  const NodeInfo* node = nullptr;
  std::int64_t total = 0;
  // The weighted contribution of each plugin; a plugin without an opinion is absent.
  std::map<std::string, std::int64_t> plugins;
};

// `group`: see TopologySpreadScores.
std::vector<NodeScore> ScoreNodes(const PodInfo& pod, const api::Optional<LabelSelector>& group,
                                  const Snapshot& snapshot, const std::vector<const NodeInfo*>& feasible);

}  // namespace flyball::scheduler
