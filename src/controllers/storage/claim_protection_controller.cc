#include "controllers/storage/claim_protection_controller.h"

#include <string>
#include <vector>

#include "api/types/core.h"
#include "controller/objects/owner.h"
#include "controller/pods/pod_state.h"
#include "controllers/storage/protection.h"

namespace flyball::controllers {
namespace {

constexpr char kProtection[] = "kubernetes.io/pvc-protection";
constexpr char kClaimIndex[] = "claim";

// An ephemeral volume has a claim named after the pod.
std::vector<ObjectKey> ClaimsOf(const Pod& pod) {
  std::vector<ObjectKey> claims;
  for (const Volume& volume : pod.spec.volumes) {
    if (volume.persistent_volume_claim)
      claims.push_back({pod.metadata.namespace_, volume.persistent_volume_claim->claim_name});
    if (volume.ephemeral) claims.push_back({pod.metadata.namespace_, pod.metadata.name + "-" + volume.name});
  }
  return claims;
}

// A pod without a node has not started to use it, and will not be started while the claim is being deleted.
bool Uses(const Pod& pod) {
  return !pod.spec.node_name.empty() && !IsPodFinished(pod);
}

Result<Action> ReconcileClaim(const PersistentVolumeClaim& claim, Context& ctx) {
  if (!IsDeleting(claim.metadata) || !HasFinalizer(claim.metadata, kProtection)) return Done();
  const ObjectKey key{claim.metadata.namespace_, claim.metadata.name};
  for (const auto& pod : ctx.lister<Pod>().ByIndex(kClaimIndex, key.ToString()))
    if (Uses(*pod)) return Done();
  // The cache may be behind, and releasing the claim cannot be undone.
  FLYBALL_ASSIGN(const auto live, ctx.client().List<Pod>(key.ns));
  for (const Pod& pod : live.items)
    for (const ObjectKey& used : ClaimsOf(pod))
      if (used == key && Uses(pod)) return Done();
  FLYBALL_TRY(SetProtected(ctx.client(), claim, kProtection, false));
  return Done();
}

}  // namespace

Status AddClaimProtectionController(Manager& manager, int workers) {
  return manager.For<PersistentVolumeClaim>()
      .Named("persistentvolumeclaim-protection-controller")
      .Index<Pod>(kClaimIndex,
                  [](const Pod& pod) {
                    std::vector<std::string> values;
                    for (const ObjectKey& key : ClaimsOf(pod)) values.push_back(key.ToString());
                    return values;
                  })
      .Watches<Pod>([](const Pod& pod) { return ClaimsOf(pod); })
      .Workers(workers)
      .Reconcile(&ReconcileClaim);
}

}  // namespace flyball::controllers
