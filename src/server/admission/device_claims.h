// Who may have what of devices. Rules of the registry upstream: they cannot be switched off.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/registry/admission.h"

namespace flyball::server {

// Admin access to devices, asked for in a claim or granted in its status, needs the label
// resource.kubernetes.io/admin-access=true on the namespace. Changing status.allocation or status.reservedFor
// of a claim needs rights on resourceclaims/binding, changing status.devices on resourceclaims/driver
// (upstream: DRAResourceClaimGranularStatusAuthorization). `authorizer` must outlive the plugin.
std::unique_ptr<AdmissionPlugin> NewDeviceClaimCheck(const Catalog& catalog, const Authorizer& authorizer);

}  // namespace flyball::server
