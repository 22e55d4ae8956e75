// What the machine uses, from /proc.
#pragma once

#include <string>

#include "node/stats/usage.h"

namespace flyball::node {

// Fills in what is about the machine: usage, capacities, processes and when it was started. `proc`: where the
// files are.
void ReadMachineUsage(NodeStats& stats, TimePoint now, const std::string& proc = "/proc");

}  // namespace flyball::node
