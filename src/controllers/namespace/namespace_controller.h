// The namespace controller: empties namespaces that are being deleted, then lets them go.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddNamespaceController(Manager& manager, int workers);

}  // namespace flyball::controllers
