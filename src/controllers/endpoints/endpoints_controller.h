// The Endpoints controller: maintains the older form of EndpointSlices, one object per Service.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddEndpointsController(Manager& manager, int workers);

}  // namespace flyball::controllers
