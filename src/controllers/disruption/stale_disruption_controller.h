// Takes back what was said of pods that were to be disrupted and then were not.
#pragma once

#include "controller/manager.h"

namespace flyball::controllers {

// A part of the disruption controller with a queue of its own, as upstream's stale_pod_disruption.
Status AddStaleDisruptionController(Manager& manager, int workers);

}  // namespace flyball::controllers
