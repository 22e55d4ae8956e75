// Plugins that are off unless --enable-admission-plugins names them, as upstream.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewAlwaysAdmit();
std::unique_ptr<AdmissionPlugin> NewAlwaysDeny();
// Services may not get new external IPs.
std::unique_ptr<AdmissionPlugin> NewDenyServiceExternalIPs();

}  // namespace flyball::server
