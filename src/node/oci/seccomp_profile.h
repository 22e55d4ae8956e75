// Seccomp profiles: which system calls a container may not use.
#pragma once

#include <string>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::node {

// Everything is allowed but the calls that change the machine or look into other processes, which fail with
// EPERM.
json::Value DefaultSeccompProfile();
// A profile of the machine's (type Localhost), in the form that Docker and runc share. BadRequest if there is
// none.
Result<json::Value> ReadSeccompProfile(const std::string& path);

}  // namespace flyball::node
