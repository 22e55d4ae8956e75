// The taint eviction controller: deletes pods from nodes whose NoExecute taints they do not (or no longer)
// tolerate.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddTaintEvictionController(Manager& manager, int workers);

}  // namespace flyball::controllers
