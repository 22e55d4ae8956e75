// The admission plugins, in kube-apiserver's order, as --enable-admission-plugins,
// --disable-admission-plugins and --admission-control-config-file say.
#pragma once

#include <memory>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "server/admission/basis/admission_options.h"
#include "server/admission/basis/registry_access.h"
#include "server/auth/authorization.h"
#include "server/auth/remote/webhook_client.h"
#include "server/registry/admission.h"
#include "server/webhook/webhook_caller.h"

namespace flyball::server {

// What plugins are made from; everything outlives them.
struct AdmissionParts {
  const Catalog& catalog;
  const Authorizer& authorizer;
  const RegistryAccess& access;
  WebhookContext webhooks;
  WebhookCaller& webhook_caller;
  Metrics& metrics;
};

// BadRequest for a name that is none of them, and for a configuration that a plugin does not accept.
Result<std::vector<std::unique_ptr<AdmissionPlugin>>> AdmissionPlugins(const AdmissionOptions& options,
                                                                       const AdmissionParts& parts);

}  // namespace flyball::server
