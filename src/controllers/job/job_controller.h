// The Job controller: runs pods until enough of them have succeeded. Also the TTL controller, which deletes
// Jobs some time after they have finished.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddJobController(Manager& manager, int workers);
Status AddTtlAfterFinishedController(Manager& manager, int workers);

}  // namespace flyball::controllers
