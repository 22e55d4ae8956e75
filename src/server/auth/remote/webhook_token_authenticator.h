// Bearer tokens that another server knows (upstream: --authentication-token-webhook-config-file).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/auth/authentication.h"
#include "server/auth/authentication_options.h"
#include "server/auth/remote/webhook_client.h"

namespace flyball::server {

// Sends a TokenReview for each token and keeps the answer for the cache's time. BadRequest if the file or the
// version is no good.
Result<std::unique_ptr<TokenAuthenticator>> NewWebhookTokenAuthenticator(
    const WebhookTokenOptions& options, std::vector<std::string> api_audiences, WebhookContext context);

}  // namespace flyball::server
