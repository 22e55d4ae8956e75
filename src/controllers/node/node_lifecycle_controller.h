// The node lifecycle controller: notices nodes that no longer report, and taints those that are not ready.
#pragma once

#include "base/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// A node that has not renewed its lease or its status for so long is not heard of any more (upstream:
// --node-monitor-grace-period).
inline constexpr Duration kNodeGracePeriod = std::chrono::seconds(50);

Status AddNodeLifecycleController(Manager& manager, int workers);

}  // namespace flyball::controllers
