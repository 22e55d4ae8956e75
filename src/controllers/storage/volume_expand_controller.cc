#include "controllers/storage/volume_expand_controller.h"

#include "api/types/core.h"

namespace flyball::controllers {
namespace {

constexpr char kStorage[] = "storage";

Result<Action> ReconcileExpansion(const PersistentVolumeClaim& claim, Context& ctx) {
  if (claim.status.phase != "Bound") return Done();
  const auto wanted = claim.spec.resources.requests.find(kStorage);
  const auto had = claim.status.capacity.find(kStorage);
  if (wanted == claim.spec.resources.requests.end() || had == claim.status.capacity.end()) return Done();
  if ((wanted->second - had->second).Sign() <= 0) return Done();
  ctx.recorder().Normal(claim, "ExternalExpanding", "waiting for an external controller to expand this PVC");
  return Done();
}

}  // namespace

Status AddVolumeExpandController(Manager& manager, int workers) {
  return manager.For<PersistentVolumeClaim>()
      .Named("persistentvolume-expander-controller")
      .EventSource("volume_expand")
      .Workers(workers)
      .Reconcile(&ReconcileExpansion);
}

}  // namespace flyball::controllers
