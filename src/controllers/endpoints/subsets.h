// The subsets of an Endpoints object.
#pragma once

#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"

namespace flyball::controllers {

// The same endpoints in the one form that Kubernetes writes (upstream: RepackSubsets): ports that the very
// same addresses have are one subset, an address that is not ready for a port is so whatever else was said of
// it, and everything is sorted.
std::vector<EndpointSubset> RepackSubsets(const std::vector<EndpointSubset>& subsets);

// The ports of a subset as an EndpointSlice has them, in its order.
std::vector<EndpointSlicePort> SlicePortsOf(const std::vector<EndpointPort>& ports);

}  // namespace flyball::controllers
