// The ValidatingAdmissionPolicy status controller: type checks the expressions of each new or changed policy
// and says in its status what may be wrong with them. What it finds never changes what the policy does.
#pragma once

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddPolicyStatusController(Manager& manager, int workers);

}  // namespace flyball::controllers
