// ImagePolicyWebhook: another server says which images pods may use (imagepolicy.k8s.io/v1alpha1
// ImageReview).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/values/result.h"
#include "server/auth/remote/webhook_client.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `configuration` has the member imagePolicy: kubeConfigFile, allowTTL, denyTTL (seconds), retryBackoff
// (milliseconds), defaultAllow. BadRequest if there is none, or a value is out of its range.
Result<std::unique_ptr<AdmissionPlugin>> NewImagePolicyWebhook(
    const WebhookContext& context, const std::optional<std::string>& configuration);

}  // namespace flyball::server
