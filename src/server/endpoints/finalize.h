// namespaces/finalize and certificatesigningrequests/approval: the object itself, of which the endpoint may
// change one part that the main one may not.
#pragma once

#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddFinalizeEndpoints(EndpointTable& table);

}  // namespace flyball::server
