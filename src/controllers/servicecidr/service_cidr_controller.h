// The service CIDR controller: a ServiceCIDR is Ready, and one that is being deleted stays while an address
// of a Service is in it and in no other (upstream: service-cidr-controller).
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddServiceCidrController(Manager& manager, int workers);

}  // namespace flyball::controllers
