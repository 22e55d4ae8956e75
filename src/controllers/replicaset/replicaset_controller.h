// The ReplicaSet controller: keeps as many pods of one template as the ReplicaSet says.
// ReplicationControllers are the same in an older form, and kept by the same loop.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// Most pods created or deleted by one reconcile (upstream: BurstReplicas).
inline constexpr int kBurstReplicas = 500;

Status AddReplicaSetController(Manager& manager, int workers);
Status AddReplicationControllerController(Manager& manager, int workers);

}  // namespace flyball::controllers
