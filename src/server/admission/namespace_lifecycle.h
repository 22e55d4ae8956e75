// NamespaceLifecycle: nothing is made in a namespace that does not exist or is going, and the system's
// namespaces stay.
#pragma once

#include <memory>

#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewNamespaceLifecycle(const Catalog& catalog);

}  // namespace flyball::server
