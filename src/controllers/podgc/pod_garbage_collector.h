// The pod garbage collector: removes pods that no node will ever report on again and, when there are very
// many, the oldest pods that have ended.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// `terminated_threshold`: how many ended pods to keep; 0 or less: all (upstream:
// --terminated-pod-gc-threshold).
Status AddPodGarbageCollector(Manager& manager, int workers, int terminated_threshold);

}  // namespace flyball::controllers
