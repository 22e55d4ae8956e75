// The ephemeral volume controller: makes the claim of each generic ephemeral volume of a pod, which the pod
// owns (upstream: pkg/controller/volume/ephemeral).
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddEphemeralVolumeController(Manager& manager, int workers);

}  // namespace flyball::controllers
