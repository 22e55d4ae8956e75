// ServiceAccount: every pod runs as a service account that exists, and gets its token mounted.
#pragma once

#include <memory>

#include "base/run/random.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewServiceAccountAdmission(const Catalog& catalog, Random& random);

}  // namespace flyball::server
