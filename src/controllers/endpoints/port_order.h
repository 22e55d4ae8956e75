// The order in which Kubernetes lists the ports of endpoints: by the MD5 of how Go prints each port. It is
// visible in `kubectl get endpoints` and `get endpointslices`.
#pragma once

#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"

namespace flyball::controllers {

void SortPorts(std::vector<EndpointPort>& ports);
void SortPorts(std::vector<EndpointSlicePort>& ports);

}  // namespace flyball::controllers
