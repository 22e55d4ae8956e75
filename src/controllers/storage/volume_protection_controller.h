// The finalizer kubernetes.io/pv-protection: a PersistentVolume stays while a claim is bound to it (upstream:
// persistentvolume-protection-controller).
#pragma once

#include "controller/manager.h"

namespace flyball::controllers {

Status AddVolumeProtectionController(Manager& manager, int workers);

}  // namespace flyball::controllers
