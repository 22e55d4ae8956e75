// The endpointslice-mirroring controller: who writes the Endpoints of a Service without a selector by hand
// finds them in EndpointSlices too, where everybody looks.
#pragma once

#include "controller/manager.h"

namespace flyball::controllers {

Status AddEndpointSliceMirroringController(Manager& manager, int workers);

}  // namespace flyball::controllers
