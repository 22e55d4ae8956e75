// The cluster role aggregation: a ClusterRole with an aggregationRule has the rules of all those it selects.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddClusterRoleAggregation(Manager& manager, int workers);

}  // namespace flyball::controllers
