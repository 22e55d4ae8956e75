// The horizontal pod autoscaler: keeps the size of its target between its limits. It requests metrics as
// upstream does and reports the result in conditions and events. Values from a metrics API are not yet used
// to compute a size.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddHorizontalPodAutoscaler(Manager& manager, int workers);

}  // namespace flyball::controllers
