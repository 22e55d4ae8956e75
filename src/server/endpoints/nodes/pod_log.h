// pods/log: the output of a container, fetched from the node it runs on.
#pragma once

#include "server/forward/transport_cache.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddPodLogEndpoint(EndpointTable& table, std::shared_ptr<TransportCache> nodes);

}  // namespace flyball::server
