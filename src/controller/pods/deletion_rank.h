// Which pods to delete first when there are too many (upstream: ActivePodsWithRanks).
#pragma once

#include <memory>
#include <vector>

#include "api/types/core.h"
#include "base/run/clock.h"

namespace flyball::controllers {

using PodPtr = std::shared_ptr<const Pod>;

// Returns the `count` pods of `pods` to delete first, in order: unassigned before assigned, Pending before
// Unknown before Running, not ready before ready, lower deletion cost, more `related` pods on the same node,
// ready for a shorter time, more restarts, newer. `related` also includes the active pods of the same
// controller's other ReplicaSets.
std::vector<PodPtr> PodsToDelete(std::vector<PodPtr> pods, const std::vector<PodPtr>& related,
                                 std::size_t count);

}  // namespace flyball::controllers
