// The node lifecycle controller: detects nodes that no longer report, and taints those that are not ready.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"
#include "controllers/node/node_health.h"

namespace flyball::controllers {

Status AddNodeLifecycleController(Manager& manager, int workers, const NodeLifecycleOptions& options);

}  // namespace flyball::controllers
