// The plugins about the namespace that an object is written to.
#pragma once

#include <memory>

#include "server/admission/basis/registry_access.h"
#include "server/registry/admission.h"

namespace flyball::server {

// NamespaceLifecycle: nothing is made in a namespace that is not there or is going; default, kube-system and
// kube-public cannot be deleted.
std::unique_ptr<AdmissionPlugin> NewNamespaceLifecycle(const Catalog& catalog);
// NamespaceAutoProvision: makes the namespace of a new object if it is not there.
std::unique_ptr<AdmissionPlugin> NewNamespaceAutoProvision(const Catalog& catalog,
                                                           const RegistryAccess& access);
// NamespaceExists: refuses to write, or delete, in a namespace that is not there.
std::unique_ptr<AdmissionPlugin> NewNamespaceExists(const Catalog& catalog);

}  // namespace flyball::server
