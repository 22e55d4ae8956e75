// Which pods use a claim. Functions only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "informer/informer_factory.h"

namespace flyball::controllers {

// The claims of a pod's volumes; an ephemeral volume has one named after the pod.
std::vector<ObjectKey> ClaimsOf(const Pod& pod);

// Adds an index by claim to the cache of pods, unless another controller has.
Status AddPodClaimIndex(InformerFactory& informers);
// Of all pods that name the claim; needs the index.
std::vector<std::shared_ptr<const Pod>> PodsOfClaim(const Lister<Pod>& pods, const ObjectKey& claim);

}  // namespace flyball::controllers
