// The TTL controller: tells nodes how long they may cache a Secret or ConfigMap. The more nodes there are,
// the longer.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddNodeTtlController(Manager& manager, int workers);

}  // namespace flyball::controllers
