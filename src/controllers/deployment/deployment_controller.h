// The Deployment controller: moves pods from one template to the next by scaling ReplicaSets up and down.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddDeploymentController(Manager& manager, int workers);

}  // namespace flyball::controllers
