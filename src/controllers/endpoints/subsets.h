// The subsets of an Endpoints object.
#pragma once

#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"

namespace flyball::controllers {

// The same endpoints in Kubernetes' canonical form (upstream: RepackSubsets). Ports with exactly the same
// addresses form one subset. An address that is not ready for a port counts as not ready, whatever else was
// said about it. Everything is sorted.
std::vector<EndpointSubset> RepackSubsets(const std::vector<EndpointSubset>& subsets);

// The ports of a subset as EndpointSlice ports, in its order.
std::vector<EndpointSlicePort> SlicePortsOf(const std::vector<EndpointPort>& ports);

}  // namespace flyball::controllers
