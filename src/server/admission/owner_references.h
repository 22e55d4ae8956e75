// OwnerReferencesPermissionEnforcement: who changes the owners of an object must be allowed to delete it, and
// who lets an owner's deletion wait for it (blockOwnerDeletion) to set finalizers of the owner.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/registry/admission.h"

namespace flyball::server {

// `authorizer` must outlive the plugin.
std::unique_ptr<AdmissionPlugin> NewOwnerReferencesPermissionEnforcement(const Catalog& catalog,
                                                                         const Authorizer& authorizer);

}  // namespace flyball::server
