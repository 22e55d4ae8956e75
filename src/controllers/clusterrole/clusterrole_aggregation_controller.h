// The cluster role aggregation controller: gives a ClusterRole with an aggregationRule the rules of all roles
// it selects.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddClusterRoleAggregation(Manager& manager, int workers);

}  // namespace flyball::controllers
