// Whoever makes a policy read params must be allowed to read them: a paramKind needs "get" on all its
// objects, a paramRef "get" on the one it names or "list" (upstream: the registry strategies' authz.go).
// Always on.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewParamAccessCheck(const Catalog& catalog, const Authorizer& authorizer);

}  // namespace flyball::server
