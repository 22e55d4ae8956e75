// serviceaccounts/token: issues a token (TokenRequest).
#pragma once

#include "server/auth/service_account_tokens.h"
#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddTokenEndpoint(EndpointTable& table, ServiceAccountTokens& tokens);

}  // namespace flyball::server
