#include "controllers/storage/claim_protection_controller.h"

#include <string>
#include <vector>

#include "api/types/core.h"
#include "controller/objects/owner.h"
#include "controller/pods/pod_state.h"
#include "controllers/storage/claim_index.h"
#include "controllers/storage/protection.h"

namespace flyball::controllers {
namespace {

constexpr char kProtection[] = "kubernetes.io/pvc-protection";
// A pod without a node has not started to use it, and will not be started while the claim is being deleted.
bool Uses(const Pod& pod) {
  return !pod.spec.node_name.empty() && !IsPodFinished(pod);
}

Result<Action> ReconcileClaim(const PersistentVolumeClaim& claim, Context& ctx) {
  if (!IsDeleting(claim.metadata) || !HasFinalizer(claim.metadata, kProtection)) return Done();
  const ObjectKey key{claim.metadata.namespace_, claim.metadata.name};
  for (const auto& pod : PodsOfClaim(ctx.lister<Pod>(), key))
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
  FLYBALL_TRY(AddPodClaimIndex(manager.informers()));
  return manager.For<PersistentVolumeClaim>()
      .Named("persistentvolumeclaim-protection-controller")
      .Watches<Pod>([](const Pod& pod) { return ClaimsOf(pod); })
      .Workers(workers)
      .Reconcile(&ReconcileClaim);
}

}  // namespace flyball::controllers
