// What configMap, secret, downwardAPI and projected volumes hold, asked of the API.
#pragma once

#include <string>

#include "api/types/core.h"
#include "client/client.h"
#include "node/volumes/atomic_folder.h"

namespace flyball::node {

// Blocks. NotFound in kubelet's words if an object or key is missing and not optional. `known` is the token
// that the volume has, kept while it is good for long enough.
Result<VolumeFiles> ContentOf(const Client& client, const Pod& pod, const Volume& volume,
                              const std::string& pod_ip, const std::string& folder);
// Whether the volume is of a kind that ContentOf knows.
bool HasContent(const Volume& volume);

}  // namespace flyball::node
