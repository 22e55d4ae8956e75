// The CronJob controller: creates a Job at each time of a schedule.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddCronJobController(Manager& manager, int workers);

}  // namespace flyball::controllers
