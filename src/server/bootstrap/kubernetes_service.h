// The `kubernetes` Service of the namespace `default`, through which programs in the cluster find the API
// (upstream: controlplane/controller/kubernetesservice and its endpoint reconciler).
#pragma once

#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::server {

// The range's first address. BadRequest if the range makes no sense.
Result<std::string> KubernetesServiceAddress(const std::string& service_range);
// The Service on the range's first address. BadRequest if the range makes no sense.
Result<json::Value> KubernetesService(const std::string& service_range, int port);
// The ServiceCIDR `kubernetes`: the range that cluster IPs come from. It is ready from the start.
json::Value KubernetesServiceCidr(const std::string& service_range, TimePoint now);
// Endpoints and EndpointSlice that say where the API servers listen. `addresses` are IPv4 or IPv6, at least
// one; the slice has those of the first one's family.
std::vector<json::Value> KubernetesEndpoints(const std::vector<std::string>& addresses, int port);

}  // namespace flyball::server
