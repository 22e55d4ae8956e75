// fsGroup: whom the files of a volume belong to (upstream: volume/volume_linux.go).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::node {

// Gives everything in the volume to the group, which may read it, and write it unless it is read-only; new
// files will belong to it too. `policy` is the pod's fsGroupChangePolicy: with OnRootMismatch nothing is
// touched if the volume's root is as it should be. Links are not followed. Blocks for as long as it takes.
Status GiveToGroup(const std::string& folder, gid_t group, bool read_only, std::string_view policy);

}  // namespace flyball::node
