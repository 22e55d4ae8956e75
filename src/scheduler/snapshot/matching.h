// What of selectors and tolerations only the scheduler asks; the rest is in api/matching.h. Pure functions;
// thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "api/select/matching.h"

namespace flyball::scheduler {

// The nodes the pod names by `metadata.name` fields, if all its terms do; empty: they contradict each other.
std::optional<std::set<std::string>> NamedNodes(const PodSpec& spec);

// No NoSchedule or NoExecute taint is left untolerated.
bool ToleratesNode(const PodSpec& spec, const Node& node);

}  // namespace flyball::scheduler
