// pods/log: the output of a container, fetched from the node it runs on.
#pragma once

#include "server/api_server.h"
#include "server/endpoint.h"

namespace flyball::server {

void AddPodLogEndpoint(EndpointTable& table, const ApiServerOptions& options);

}  // namespace flyball::server
