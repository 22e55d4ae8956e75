// The device taint eviction controller (upstream: device-taint-eviction-controller). A pod that uses a device
// with a NoExecute taint, from its slice or from a DeviceTaintRule, is deleted unless the claim tolerates the
// taint; after tolerationSeconds if it tolerates it for a while. The condition EvictionInProgress of a rule
// says how many pods are still to be evicted.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddDeviceTaintEvictionController(Manager& manager, int workers);

}  // namespace flyball::controllers
