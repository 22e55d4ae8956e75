// The Endpoints controller: the older form of EndpointSlices, one object a Service.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddEndpointsController(Manager& manager, int workers);

}  // namespace flyball::controllers
