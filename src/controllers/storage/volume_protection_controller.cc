#include "controllers/storage/volume_protection_controller.h"

#include "api/types/core.h"
#include "controller/objects/owner.h"
#include "controllers/storage/protection.h"

namespace flyball::controllers {
namespace {

constexpr char kVolumeProtection[] = "kubernetes.io/pv-protection";

// A volume that was taken off protection by hand gets it back; one that is being deleted loses it once no
// claim is bound to it.
Result<Action> ReconcileVolume(const PersistentVolume& volume, Context& ctx) {
  const bool held = HasFinalizer(volume.metadata, kVolumeProtection);
  if (!IsDeleting(volume.metadata)) {
    if (!held) FLYBALL_TRY(SetProtected(ctx.client(), volume, kVolumeProtection, true));
    return Done();
  }
  if (held && volume.status.phase != "Bound")
    FLYBALL_TRY(SetProtected(ctx.client(), volume, kVolumeProtection, false));
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
