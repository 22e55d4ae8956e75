// The EndpointSlice controller: publishes where the pods of a Service are.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddEndpointSliceController(Manager& manager, int workers);

}  // namespace flyball::controllers
