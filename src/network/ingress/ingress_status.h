// Writes what an Ingress is told about its load balancer, and makes the class that Ingress objects name.
#pragma once

#include <string>

#include "controller/manager.h"

namespace flyball::network {

// `address`: an IP address, or a host name.
void AddIngressStatusController(Manager& manager, const std::string& address);
// Makes the IngressClass `flyball` once, as the default class, unless there is one of that name: then it is
// left as it is.
void AddIngressClassController(Manager& manager);

}  // namespace flyball::network
