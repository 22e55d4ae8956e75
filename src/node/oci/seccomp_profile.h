// The seccomp profile `RuntimeDefault`: which system calls a container may not use.
#pragma once

#include "json/value.h"

namespace flyball::node {

// Everything is allowed but the calls that change the machine or look into other processes, which fail with
// EPERM.
json::Value DefaultSeccompProfile();

}  // namespace flyball::node
