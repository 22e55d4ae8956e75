// The StatefulSet controller: pods with names, numbers and claims of their own, one after the other.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddStatefulSetController(Manager& manager, int workers);

}  // namespace flyball::controllers
