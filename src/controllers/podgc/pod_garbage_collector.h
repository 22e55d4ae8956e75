// The pod garbage collector: removes pods that no node will ever report on again.
#pragma once

#include "base/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddPodGarbageCollector(Manager& manager, int workers);

}  // namespace flyball::controllers
