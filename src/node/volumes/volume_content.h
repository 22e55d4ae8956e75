// What configMap, secret, downwardAPI and projected volumes hold, asked of the API.
#pragma once

#include <string>

#include "api/types/core.h"
#include "client/client.h"
#include "node/volumes/atomic_folder.h"
#include "node/volumes/pod_certificates.h"
#include "node/volumes/pod_fields.h"

namespace flyball::node {

// Whom and what to ask. References only.
struct ContentSources {
  const Client& client;
  PodCertificates& certificates;
  const NodeAllocatable& allocatable;
  PodAddresses addresses;
};

// Blocks. NotFound in kubelet's words if an object or key is missing and not optional. `folder` is what the
// volume has now: a token in it is kept while it is good for long enough.
Result<VolumeFiles> ContentOf(const ContentSources& sources, const Pod& pod, const Volume& volume,
                              const std::string& folder);
// Whether the volume is of a kind that ContentOf knows.
bool HasContent(const Volume& volume);

}  // namespace flyball::node
