// The volume expand controller: says of a claim that has grown who makes its volume grow (upstream:
// pkg/controller/volume/expand). That is always somebody else: the resizer of a CSI driver, or Flyball's own
// local-path provisioner; there are no volume plugins in the tree.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddVolumeExpandController(Manager& manager, int workers);

}  // namespace flyball::controllers
