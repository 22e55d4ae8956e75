#include "controllers/storage/volume_protection_controller.h"

#include "api/types/core.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

constexpr char kVolumeProtection[] = "kubernetes.io/pv-protection";

// A volume that was taken off protection by hand gets it back; one that is being deleted loses it once no
// claim is bound to it.
Result<Action> ReconcileVolume(const PersistentVolume& volume, Context& ctx) {
  const bool held = HasFinalizer(volume.metadata, kVolumeProtection);
  if (!IsDeleting(volume.metadata)) {
    if (!held) FLYBALL_TRY(EnsureFinalizer(ctx.client(), volume, kVolumeProtection));
    return Done();
  }
  if (held && volume.status.phase != "Bound")
    FLYBALL_TRY(DropFinalizer(ctx.client(), volume, kVolumeProtection));
  return Done();
}

}  // namespace

Status AddVolumeProtectionController(Manager& manager, int workers) {
  return manager.For<PersistentVolume>()
      .Named("persistentvolume-protection-controller")
      .Workers(workers)
      .Reconcile(&ReconcileVolume);
}

}  // namespace flyball::controllers
