// The endpointslice-mirroring controller: copies hand-written Endpoints of a Service without a selector into
// EndpointSlices, where clients look.
#pragma once

#include "controller/manager.h"

namespace flyball::controllers {

Status AddEndpointSliceMirroringController(Manager& manager, int workers);

}  // namespace flyball::controllers
