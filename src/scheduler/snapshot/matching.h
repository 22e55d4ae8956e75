// Matching of selectors and tolerations that only the scheduler needs; the rest is in api/select/matching.h.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/select/matching.h"

namespace flyball::scheduler {

// The nodes that the pod names by `metadata.name` fields, if all its terms do; empty: the terms contradict
// each other.
std::optional<std::set<std::string>> NamedNodes(const PodSpec& spec);

// True if every NoSchedule and NoExecute taint is tolerated.
bool ToleratesNode(const PodSpec& spec, const Node& node);

}  // namespace flyball::scheduler
