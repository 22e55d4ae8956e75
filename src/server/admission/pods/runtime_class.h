// RuntimeClass: a pod gets the overhead and the scheduling rules of the class it names;
// PersistentVolumeClaimResize: a claim grows only where its storage class lets it.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewRuntimeClassAdmission(const Catalog& catalog);
std::unique_ptr<AdmissionPlugin> NewPersistentVolumeClaimResize(const Catalog& catalog);

}  // namespace flyball::server
