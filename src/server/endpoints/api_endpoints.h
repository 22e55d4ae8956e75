// The endpoints that are not plain storage: subresources (scale, binding, eviction, token, log, ...) and
// reviews.
#pragma once

#include <memory>
#include <string>

#include "server/auth/service_account_tokens.h"
#include "server/endpoints/component_status.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

// With which the server asks nodes for logs and streams (PEM).
struct NodeClientIdentity {
  std::string certificate, key;
};

void AddApiEndpoints(EndpointTable& table, const NodeClientIdentity& identity, ServiceAccountTokens& tokens,
                     std::shared_ptr<const LocalComponents> components);

}  // namespace flyball::server
