// The resource quota controller: keeps status.hard and status.used of every ResourceQuota correct. Admission
// charges a quota when an object is created. This controller recounts when an object is deleted, has ended,
// or existed before the quota.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddResourceQuotaController(Manager& manager, int workers);

}  // namespace flyball::controllers
