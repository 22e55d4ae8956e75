// The attach/detach controller: asks CSI drivers, by VolumeAttachment objects, to attach the volumes of pods
// to their nodes, and to detach those that no pod there uses any more (upstream:
// pkg/controller/volume/attachdetach).
//
// Keys are nodes. What is wanted comes from the pods, what there is from the VolumeAttachments; the Node's
// volumesAttached says what its pods may mount. A volume is detached only after it is gone from that list and
// the Node does not say any more that it is in use; from a node that is not ready, after six minutes without.
// Nodes whose agent attaches by itself (no annotation controller-managed-attach-detach) are left alone, and
// so are drivers that need no attaching.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddAttachDetachController(Manager& manager, int workers);

}  // namespace flyball::controllers
