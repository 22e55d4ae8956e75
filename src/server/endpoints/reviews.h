// Reviews: questions put as objects: may somebody do something (authorization.k8s.io), who am I, whose token
// is this (authentication.k8s.io). Nothing is stored.
#pragma once

#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddReviewEndpoints(EndpointTable& table);

}  // namespace flyball::server
