// Finds the pods that a pod is spread with if it has no constraints of its own (upstream:
// helper.DefaultSelector).
#pragma once

#include <memory>
#include <vector>

#include "api/types/core.h"
#include "api/types/meta.h"
#include "api/types/optional.h"

namespace flyball::scheduler {

// The pods selected by all Services that select the pod, and by its owner (`owner` is the owner's selector,
// if it is a ReplicaSet, StatefulSet or ReplicationController). Nothing if nothing selects the pod.
api::Optional<LabelSelector> SpreadGroup(const Pod& pod,
                                         const std::vector<std::shared_ptr<const Service>>& services,
                                         const LabelSelector* owner);

}  // namespace flyball::scheduler
