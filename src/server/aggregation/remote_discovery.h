// What another API server says it serves, read with suspicion: only the fields that discovery has are kept.
// Functions only; thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::server {

// The resources of each group version, as APIVersionDiscovery has them.
using DiscoveredVersions = std::map<std::pair<std::string, std::string>, json::Array>;

// An APIGroupDiscoveryList. BadRequest if it is none.
Result<DiscoveredVersions> ReadAggregatedDiscovery(std::string_view text);

// An APIResourceList, as servers have it that know no aggregated discovery. BadRequest if it is none
// (upstream: ConvertGroupVersionIntoToDiscovery).
Result<json::Array> ReadResourceList(std::string_view text);

// Whether a Content-Type is that of an APIGroupDiscoveryList of apidiscovery.k8s.io/v2.
bool IsAggregatedDiscovery(std::string_view content_type);

}  // namespace flyball::server
