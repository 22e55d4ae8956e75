// The TTL controller: tells nodes how long they may go on with a Secret or ConfigMap before they look again,
// longer the more nodes there are.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddNodeTtlController(Manager& manager, int workers);

}  // namespace flyball::controllers
