// The volume binder: gives claims the PersistentVolumes that fit, says what they wait for, and releases the
// volumes of claims that are gone (upstream: persistentvolume-binder-controller). Volumes are made and
// removed by outside provisioners; nothing here mounts or wipes anything.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddVolumeBinderController(Manager& manager);

}  // namespace flyball::controllers
