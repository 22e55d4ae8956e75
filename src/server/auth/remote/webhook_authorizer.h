// Authorization by another server (upstream: the Webhook mode).
#pragma once

#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "server/auth/authorization.h"
#include "server/auth/config/authorization_config.h"
#include "server/auth/remote/webhook_client.h"

namespace flyball::server {

// Sends a SubjectAccessReview and keeps the answer for the configured times. If the other server does not
// answer, the failure policy decides, and the verdict has the error. BadRequest if the kubeconfig file or the
// version is no good.
Result<std::unique_ptr<Authorizer>> NewWebhookAuthorizer(const std::string& name,
                                                         const WebhookAuthorizerConfig& config,
                                                         WebhookContext context, Metrics& metrics);

}  // namespace flyball::server
