// pods/exec, pods/attach and pods/portforward: connections to a pod, joined to its node's server.
//
// The API server decides who may, finds the container and the node, and passes bytes; the protocols inside
// (WebSocket channels, SPDY) are between client and node.
#pragma once

#include "server/forward/transport_cache.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddPodStreamEndpoints(EndpointTable& table, std::shared_ptr<TransportCache> nodes);

}  // namespace flyball::server
