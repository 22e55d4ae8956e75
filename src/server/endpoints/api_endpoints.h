// The endpoints that are not plain storage: subresources (scale, binding, eviction, token, log, ...) and
// reviews.
#pragma once

#include <memory>

#include "server/auth/service_account_tokens.h"
#include "server/endpoints/component_status.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddApiEndpoints(EndpointTable& table, const ApiServerOptions& options, ServiceAccountTokens& tokens,
                     std::shared_ptr<const LocalComponents> components);

}  // namespace flyball::server
