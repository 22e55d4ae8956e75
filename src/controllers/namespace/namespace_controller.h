// The namespace controller: deletes the content of namespaces that are being deleted, then finalizes them.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddNamespaceController(Manager& manager, int workers);

}  // namespace flyball::controllers
