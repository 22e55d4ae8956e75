// Plugins that are off unless --enable-admission-plugins names them, as upstream.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

std::unique_ptr<AdmissionPlugin> NewAlwaysAdmit();
std::unique_ptr<AdmissionPlugin> NewAlwaysDeny();
// Every container's image is pulled anew, so that a node's copy does not bypass its registry's rights.
std::unique_ptr<AdmissionPlugin> NewAlwaysPullImages();
// A pod that asks for a vendor's resource tolerates the taint of the same name.
std::unique_ptr<AdmissionPlugin> NewExtendedResourceToleration();
// Services may not get new external IPs.
std::unique_ptr<AdmissionPlugin> NewDenyServiceExternalIPs();
// Required anti-affinity only by host.
std::unique_ptr<AdmissionPlugin> NewLimitPodHardAntiAffinityTopology();

}  // namespace flyball::server
