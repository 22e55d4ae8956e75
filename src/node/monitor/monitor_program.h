// The monitor's program, which this one carries inside (src/node/monitor).
#pragma once

#include "base/values/result.h"
#include "node/images/rooted_tree.h"

namespace flyball::node {

// A file in memory that can be executed by "/proc/self/fd/<fd>".
Result<OwnedFd> OpenMonitorProgram();

}  // namespace flyball::node
