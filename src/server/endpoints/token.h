// serviceaccounts/token: issues a token (TokenRequest).
#pragma once

#include "server/endpoint.h"
#include "server/service_account_tokens.h"

namespace flyball::server {

void AddTokenEndpoint(EndpointTable& table, ServiceAccountTokens& tokens);

}  // namespace flyball::server
