// Subresources of pods that change them: binding (and the resource bindings), eviction, ephemeralcontainers,
// resize.
#pragma once

#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddPodEndpoints(EndpointTable& table);

}  // namespace flyball::server
