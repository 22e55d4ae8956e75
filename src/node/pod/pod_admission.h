// Whether a node takes a pod that was bound to it (upstream: kubelet's lifecycle/predicate.go). What the
// scheduler has checked can have changed, and not every pod came through a scheduler.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/core.h"

namespace flyball::node {

struct PodRejection {
  std::string reason, message;
};

// `others`: the pods that the node has taken and that have not ended. Nothing if there is nothing against it.
std::optional<PodRejection> WhyRejected(const Pod& pod, const Node& node,
                                        const std::vector<std::shared_ptr<const Pod>>& others);

}  // namespace flyball::node
