// ValidatingAdmissionPolicy: refuses, warns of or notes what the bound policies of that kind object to.
#pragma once

#include <memory>

#include "base/observe/metrics.h"
#include "server/auth/authorization.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

// All must outlive it.
std::unique_ptr<AdmissionPlugin> NewValidatingPolicies(const Catalog& catalog, const Authorizer& authorizer,
                                                       Metrics& metrics);

}  // namespace flyball::server
