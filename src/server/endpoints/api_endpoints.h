// The endpoints that are not plain storage: subresources (scale, binding, eviction, token, log, ...) and
// reviews.
#pragma once

#include <memory>
#include <string>

#include "server/auth/service_account_tokens.h"
#include "server/endpoints/component_status.h"
#include "server/forward/transport_cache.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

// `nodes`: how nodes are reached.
void AddApiEndpoints(EndpointTable& table, const std::shared_ptr<TransportCache>& nodes,
                     ServiceAccountTokens& tokens, std::shared_ptr<const LocalComponents> components);

}  // namespace flyball::server
