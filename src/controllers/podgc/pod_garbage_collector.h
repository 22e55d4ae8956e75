// The pod garbage collector: removes pods that no node will ever report on again, and the oldest of those
// that ended when there are very many.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// `terminated_threshold`: so many ended pods are kept; 0 or less: all (upstream:
// --terminated-pod-gc-threshold).
Status AddPodGarbageCollector(Manager& manager, int workers, int terminated_threshold);

}  // namespace flyball::controllers
