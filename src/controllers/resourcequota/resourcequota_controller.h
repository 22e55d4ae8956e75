// The resource quota controller: keeps status.hard and status.used of every ResourceQuota true. Admission
// charges a quota when something is made; this loop counts anew when something goes, ends, or was there
// before the quota.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddResourceQuotaController(Manager& manager, int workers);

}  // namespace flyball::controllers
