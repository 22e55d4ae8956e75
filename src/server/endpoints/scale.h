// The scale subresource: the number of replicas of any kind that has one, as an autoscaling/v1 Scale.
#pragma once

#include "server/handlers/endpoint.h"

namespace flyball::server {

void AddScaleEndpoint(EndpointTable& table);

}  // namespace flyball::server
