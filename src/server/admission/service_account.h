// ServiceAccount: every pod runs as a service account that exists, and gets its token mounted.
#pragma once

#include <memory>

#include "base/random.h"
#include "server/admission.h"
#include "server/catalog.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewServiceAccountAdmission(const Catalog& catalog, Random& random);

}  // namespace flyball::server
