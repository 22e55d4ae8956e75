// Machine: what this computer offers, as a Node's status says it.
#pragma once

#include "api/types/core.h"
#include "base/clock.h"

namespace flyball::node {

// nodeInfo, capacity and allocatable of the machine the program runs on.
NodeSystemInfo ReadSystemInfo(const std::string& runtime_version);
std::map<std::string, api::Quantity> ReadCapacity(int max_pods);
// Ready, and no pressure of any kind.
std::vector<NodeCondition> HealthyConditions(TimePoint now);

}  // namespace flyball::node
