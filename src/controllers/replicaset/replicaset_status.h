// Computes the status of a ReplicaSet or a ReplicationController from its pods.
#pragma once

#include <memory>
#include <vector>

#include "api/types/apps.h"
#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::controllers {

// `manage` is the result of the last attempt to create or delete pods; `missing` is how many pods were
// missing (negative: too many).
ReplicaSetStatus StatusOf(const ReplicaSet& rs, const std::vector<std::shared_ptr<const Pod>>& pods,
                          int missing, const Status& manage, TimePoint now);
ReplicationControllerStatus StatusOf(const ReplicationController& rc,
                                     const std::vector<std::shared_ptr<const Pod>>& pods, int missing,
                                     const Status& manage, TimePoint now);

// The pod template; a ReplicationController without one creates an empty pod, which the server rejects.
const PodTemplateSpec& TemplateOf(const ReplicaSet& rs);
const PodTemplateSpec& TemplateOf(const ReplicationController& rc);

}  // namespace flyball::controllers
