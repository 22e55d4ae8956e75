#include "controllers/storage/ephemeral_volume_controller.h"

#include <string>
#include <vector>

#include "api/types/core.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

Error NotForPod(const Pod& pod, const PersistentVolumeClaim& claim) {
  return Error(Reason::kConflict, "PVC " + claim.metadata.namespace_ + "/" + claim.metadata.name +
                                      " was not created for pod " + pod.metadata.namespace_ + "/" +
                                      pod.metadata.name + " (pod is not owner)");
}

Status EnsureClaim(const Pod& pod, const Volume& volume, Context& ctx) {
  const std::string name = pod.metadata.name + "-" + volume.name;
  if (const auto known = ctx.lister<PersistentVolumeClaim>().Get(pod.metadata.namespace_, name))
    return IsControlledBy(*known, pod) ? Status() : Unexpected(NotForPod(pod, *known));
  const auto& wanted = volume.ephemeral->volume_claim_template;
  if (!wanted) return {};
  PersistentVolumeClaim claim;
  claim.metadata.name = name;
  claim.metadata.namespace_ = pod.metadata.namespace_;
  claim.metadata.labels = wanted->metadata.labels;
  claim.metadata.annotations = wanted->metadata.annotations;
  claim.metadata.owner_references.push_back(ControllerRefTo(pod));
  claim.spec = wanted->spec;
  const auto made = ctx.client().Create(claim);
  if (!made)
    return Unexpected(Error(made.error().reason(), "create PVC " + name + ": " + made.error().message()));
  return {};
}

Result<Action> ReconcilePodVolumes(const Pod& pod, Context& ctx) {
  if (IsDeleting(pod.metadata)) return Done();
  for (const Volume& volume : pod.spec.volumes) {
    if (!volume.ephemeral) continue;
    const Status there = EnsureClaim(pod, volume, ctx);
    if (there) continue;
    ctx.recorder().Warning(pod, "FailedBinding",
                           "ephemeral volume " + volume.name + ": " + there.error().message());
    return Unexpected(there.error());
  }
  return Done();
}

}  // namespace

Status AddEphemeralVolumeController(Manager& manager, int workers) {
  return manager.For<Pod>()
      .Named("ephemeral-volume-controller")
      .EventSource("ephemeral_volume")
      // One that was deleted by hand is made again.
      .Owns<PersistentVolumeClaim>()
      .Workers(workers)
      .Reconcile(&ReconcilePodVolumes);
}

}  // namespace flyball::controllers
