// The horizontal pod autoscaler (upstream: podautoscaler.HorizontalController): keeps the size of its target
// between its limits and as its metrics ask for, at the pace that its behaviour allows. What was read and
// decided is in conditions and events.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddHorizontalPodAutoscaler(Manager& manager, int workers);

}  // namespace flyball::controllers
