// Nobody grants rights they do not have: writing a Role or ClusterRole, and binding one, needs every right in
// it, or the verbs escalate and bind (upstream: the policy-based storage of the RBAC kinds). Always on.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewRbacEscalationCheck(const Catalog& catalog, const Authorizer& authorizer);

}  // namespace flyball::server
