// What a ReplicaSet's status should say, from the pods it has.
#pragma once

#include <memory>
#include <vector>

#include "api/types/apps.h"
#include "base/clock.h"
#include "base/result.h"

namespace flyball::controllers {

// `manage` is how the last attempt to create or delete pods went; `missing` how many pods were too few
// (negative: too many).
ReplicaSetStatus StatusOf(const ReplicaSet& rs, const std::vector<std::shared_ptr<const Pod>>& pods,
                          int missing, const Status& manage, TimePoint now);

}  // namespace flyball::controllers
