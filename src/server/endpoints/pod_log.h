// pods/log: the output of a container, fetched from the node it runs on.
#pragma once

#include "server/endpoint.h"
#include "server/endpoints/transport_cache.h"

namespace flyball::server {

void AddPodLogEndpoint(EndpointTable& table, std::shared_ptr<TransportCache> nodes);

}  // namespace flyball::server
