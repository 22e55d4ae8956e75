// The ReplicaSet controller: keeps the requested number of pods of one template running.
// ReplicationControllers are the older form and use the same loop.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

// The most pods created or deleted by one reconcile (upstream: BurstReplicas).
inline constexpr int kBurstReplicas = 500;

Status AddReplicaSetController(Manager& manager, int workers);
Status AddReplicationControllerController(Manager& manager, int workers);

}  // namespace flyball::controllers
