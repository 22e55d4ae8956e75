// The horizontal pod autoscaler: keeps the size of what it scales between its limits. Metrics are asked for
// as upstream does, and what becomes of that is told in conditions and events; but values that a metrics API
// answers with are not made into a size yet.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddHorizontalPodAutoscaler(Manager& manager, int workers);

}  // namespace flyball::controllers
