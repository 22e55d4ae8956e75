// Which pods a pod is spread with when it has no constraints of its own (upstream: helper.DefaultSelector).
#pragma once

#include <memory>
#include <vector>

#include "api/types/core.h"
#include "api/types/meta.h"
#include "api/types/optional.h"

namespace flyball::scheduler {

// Those that all Services which select the pod select, and its owner (`owner` is that one's selector, if it
// is a ReplicaSet, StatefulSet or ReplicationController). Nothing if nobody selects it.
api::Optional<LabelSelector> SpreadGroup(const Pod& pod,
                                         const std::vector<std::shared_ptr<const Service>>& services,
                                         const LabelSelector* owner);

}  // namespace flyball::scheduler
