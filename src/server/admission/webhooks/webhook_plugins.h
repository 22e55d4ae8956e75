// MutatingAdmissionWebhook and ValidatingAdmissionWebhook (upstream: admission/plugin/webhook).
//
// Mutating webhooks are called one after the other, in the order of their configurations' names; each sees
// what those before it have changed. If one changed something after an earlier one with reinvocationPolicy
// IfNeeded, that one is called once more. Validating webhooks are called at the same time, and see the final
// object.
#pragma once

#include <memory>

#include "server/admission/webhooks/webhook_call.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewMutatingAdmissionWebhook(const WebhookNeeds& needs);
std::unique_ptr<AdmissionPlugin> NewValidatingAdmissionWebhook(const WebhookNeeds& needs);

}  // namespace flyball::server
