// The DaemonSet controller: runs one pod of a template on every node that fits.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddDaemonSetController(Manager& manager, int workers);

}  // namespace flyball::controllers
