// The garbage collector: deletes objects whose owners are all gone, and carries out foreground and orphaning
// deletes.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddGarbageCollector(Manager& manager, int workers);

}  // namespace flyball::controllers
