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
// Endpoints and EndpointSlice that say where this run of the server listens. `host` is an IPv4 or IPv6
// address.
std::vector<json::Value> KubernetesEndpoints(const std::string& host, int port);

}  // namespace flyball::server
