// What the status of a ReplicaSet, or a ReplicationController, should say, from the pods it has.
#pragma once

#include <memory>
#include <vector>

#include "api/types/apps.h"
#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::controllers {

// `manage` is how the last attempt to create or delete pods went; `missing` how many pods were too few
// (negative: too many).
ReplicaSetStatus StatusOf(const ReplicaSet& rs, const std::vector<std::shared_ptr<const Pod>>& pods,
                          int missing, const Status& manage, TimePoint now);
ReplicationControllerStatus StatusOf(const ReplicationController& rc,
                                     const std::vector<std::shared_ptr<const Pod>>& pods, int missing,
                                     const Status& manage, TimePoint now);

// The pod it makes; a ReplicationController without one makes an empty pod, which the server refuses.
const PodTemplateSpec& TemplateOf(const ReplicaSet& rs);
const PodTemplateSpec& TemplateOf(const ReplicationController& rc);

}  // namespace flyball::controllers
