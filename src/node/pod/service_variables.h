// The variables by which containers find Services without DNS (upstream: kubelet's envvars.FromServices).
#pragma once

#include <memory>
#include <vector>

#include "api/types/core.h"
#include "node/pod/environment.h"

namespace flyball::node {

// Those of the pod's namespace, unless enableServiceLinks is false, and always of default/kubernetes.
// `services` are all of the cluster.
Variables ServiceVariables(const Pod& pod, const std::vector<std::shared_ptr<const Service>>& services);

}  // namespace flyball::node
