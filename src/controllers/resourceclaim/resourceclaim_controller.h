// The resource claim controller (upstream: resourceclaim-controller). For each pod it makes the claims that
// the pod wants from templates, records their names in the pod's status, and reserves allocated claims for
// pods that have a node though the scheduler did not place them. For each claim it drops the reservations of
// pods that are gone or have ended, frees the devices when no reservation is left, and deletes a claim that
// was made for a pod that is done.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddResourceClaimController(Manager& manager, int workers);

}  // namespace flyball::controllers
