// The claim protection controller: a PersistentVolumeClaim that is being deleted stays as long as a pod uses
// it.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddClaimProtectionController(Manager& manager, int workers);

}  // namespace flyball::controllers
