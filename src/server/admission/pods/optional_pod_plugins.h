// Plugins about pods that are off unless --enable-admission-plugins names them, as upstream.
#pragma once

#include <memory>

#include "server/registry/admission.h"

namespace flyball::server {

// Every container's image is pulled anew, so that a node's copy does not bypass its registry's rights.
std::unique_ptr<AdmissionPlugin> NewAlwaysPullImages();
// A pod that asks for a vendor's resource tolerates the taint of the same name.
std::unique_ptr<AdmissionPlugin> NewExtendedResourceToleration();
// Required anti-affinity only by host.
std::unique_ptr<AdmissionPlugin> NewLimitPodHardAntiAffinityTopology();

}  // namespace flyball::server
