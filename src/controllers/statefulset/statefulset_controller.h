// The StatefulSet controller: runs pods with their own names, numbers and claims, one after the other.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddStatefulSetController(Manager& manager, int workers);

}  // namespace flyball::controllers
