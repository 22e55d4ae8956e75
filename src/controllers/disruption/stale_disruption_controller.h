// Clears the DisruptionTarget condition of pods that were not deleted after all.
#pragma once

#include "controller/manager.h"

namespace flyball::controllers {

// Part of the disruption controller, with its own queue, as upstream's stale_pod_disruption.
Status AddStaleDisruptionController(Manager& manager, int workers);

}  // namespace flyball::controllers
