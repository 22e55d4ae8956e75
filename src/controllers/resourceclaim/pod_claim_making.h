// The part of the resource claim controller that serves a pod: see resourceclaim_controller.h.
#pragma once

#include "api/types/core.h"
#include "base/values/result.h"
#include "controller/worker/action.h"
#include "controller/worker/controller.h"

namespace flyball::controllers {

// The index of claims by the UID of the pod they were made for.
inline constexpr char kOwnerPodIndex[] = "owner-pod";

Result<Action> ReconcilePodClaims(const Pod& pod, Context& ctx);

}  // namespace flyball::controllers
