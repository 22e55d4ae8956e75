#include "controllers/storage/claim_index.h"

namespace flyball::controllers {
namespace {

constexpr char kClaimIndex[] = "claim";

}  // namespace

std::vector<ObjectKey> ClaimsOf(const Pod& pod) {
  std::vector<ObjectKey> claims;
  for (const Volume& volume : pod.spec.volumes) {
    if (volume.persistent_volume_claim)
      claims.push_back({pod.metadata.namespace_, volume.persistent_volume_claim->claim_name});
    if (volume.ephemeral) claims.push_back({pod.metadata.namespace_, pod.metadata.name + "-" + volume.name});
  }
  return claims;
}

Status AddPodClaimIndex(InformerFactory& informers) {
  const Status added = informers.For<Pod>().AddIndex(kClaimIndex, [](const Pod& pod) {
    std::vector<std::string> values;
    for (const ObjectKey& key : ClaimsOf(pod)) values.push_back(key.ToString());
    return values;
  });
  if (!added && !added.error().Is(Reason::kAlreadyExists)) return added;
  return {};
}

std::vector<std::shared_ptr<const Pod>> PodsOfClaim(const Lister<Pod>& pods, const ObjectKey& claim) {
  return pods.ByIndex(kClaimIndex, claim.ToString());
}

}  // namespace flyball::controllers
