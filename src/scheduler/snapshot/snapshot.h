// Snapshot: the cluster as one scheduling attempt sees it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/snapshot/node_info.h"

namespace flyball::scheduler {

// Borrows from the Cluster; valid until that changes.
struct Snapshot {
  std::vector<const NodeInfo*> nodes;
  const NamespaceLabels* namespaces = nullptr;
  // Pods that others are evicted for, by the node they wait for.
  const std::map<std::string, std::vector<PodInfoPtr>>* nominated = nullptr;
};

// How many pods count per value of each topology key.
class TopologyCounts {
 public:
  void Add(const std::string& key, const std::string& value, std::int64_t delta) {
    auto& count = counts_[{key, value}];
    count += delta;
    if (count == 0) counts_.erase({key, value});
  }
  std::int64_t Get(const std::string& key, const std::string& value) const {
    const auto found = counts_.find({key, value});
    return found == counts_.end() ? 0 : found->second;
  }
  bool empty() const { return counts_.empty(); }

 private:
  std::map<std::pair<std::string, std::string>, std::int64_t> counts_;
};

}  // namespace flyball::scheduler
