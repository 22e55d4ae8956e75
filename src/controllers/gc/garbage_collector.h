// The garbage collector: deletes what all of whose owners are gone, and carries out foreground and orphaning
// deletes.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddGarbageCollector(Manager& manager, int workers);

}  // namespace flyball::controllers
