// The disruption controller: computes how many pods of a PodDisruptionBudget may be evicted now.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddDisruptionController(Manager& manager, int workers);

}  // namespace flyball::controllers
