#include "controllers/storage/volume_binder_controller.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "controller/objects/owner.h"
#include "controller/objects/volume_matching.h"

namespace flyball::controllers {
namespace {

constexpr char kEventSource[] = "persistentvolume-controller";
constexpr char kProvisioner[] = "volume.kubernetes.io/storage-provisioner";
constexpr char kBetaProvisioner[] = "volume.beta.kubernetes.io/storage-provisioner";
constexpr char kDefaultClass[] = "storageclass.kubernetes.io/is-default-class";
constexpr char kBetaDefaultClass[] = "storageclass.beta.kubernetes.io/is-default-class";
constexpr std::string_view kInTree = "kubernetes.io/";

std::string AnnotationOf(const ObjectMeta& metadata, const std::string& name) {
  const auto found = metadata.annotations.find(name);
  return found == metadata.annotations.end() ? std::string() : found->second;
}

Status WriteClaimStatus(const PersistentVolumeClaim& before, const PersistentVolumeClaim& now, Context& ctx) {
  if (before.status == now.status) return {};
  FLYBALL_TRY(ctx.client().UpdateStatus(now));
  return {};
}

Status SetPhase(const PersistentVolumeClaim& claim, const char* phase, Context& ctx) {
  PersistentVolumeClaim next = claim;
  next.status.phase = phase;
  if (next.status.phase != "Bound") {
    next.status.access_modes.clear();
    next.status.capacity.clear();
  }
  return WriteClaimStatus(claim, next, ctx);
}

Status SetPhase(const PersistentVolume& volume, const char* phase, const std::string& message, Context& ctx) {
  if (volume.status.phase == phase) return {};
  PersistentVolume next = volume;
  next.status.phase = phase;
  next.status.message = message;
  FLYBALL_TRY(ctx.client().UpdateStatus(next));
  return {};
}

Result<PersistentVolume> ReserveVolume(const PersistentVolume& volume, const PersistentVolumeClaim& claim,
                                       Context& ctx) {
  PersistentVolume next = volume;
  // A reference that somebody wrote by hand is completed and stays theirs.
  if (!IsMeantFor(volume, claim)) {
    next.metadata.annotations[kBoundByController] = "yes";
  } else if (!volume.spec.claim_ref->uid.empty()) {
    return volume;
  }
  next.spec.claim_ref = ObjectReference{.kind = "PersistentVolumeClaim",
                                        .namespace_ = claim.metadata.namespace_,
                                        .name = claim.metadata.name,
                                        .uid = claim.metadata.uid,
                                        .api_version = "v1",
                                        .resource_version = claim.metadata.resource_version};
  return ctx.client().Update(next);
}

Result<PersistentVolumeClaim> PointToVolume(const PersistentVolumeClaim& claim,
                                            const PersistentVolume& volume, Context& ctx) {
  PersistentVolumeClaim next = claim;
  if (next.spec.volume_name.empty()) {
    next.spec.volume_name = volume.metadata.name;
    next.metadata.annotations[kBoundByController] = "yes";
  }
  next.metadata.annotations[kBindCompleted] = "yes";
  if (next == claim) return claim;
  return ctx.client().Update(next);
}

// Four writes, each of which the next attempt can start from.
Status Bind(const PersistentVolume& volume, const PersistentVolumeClaim& claim, Context& ctx) {
  FLYBALL_ASSIGN(const PersistentVolume reserved, ReserveVolume(volume, claim, ctx));
  FLYBALL_TRY(SetPhase(reserved, "Bound", "", ctx));
  FLYBALL_ASSIGN(const PersistentVolumeClaim pointed, PointToVolume(claim, volume, ctx));
  PersistentVolumeClaim next = pointed;
  next.status.phase = "Bound";
  next.status.access_modes = volume.spec.access_modes;
  // A claim that was resized has what it was resized to.
  if (pointed.status.phase != "Bound") next.status.capacity = volume.spec.capacity;
  next.status.current_volume_attributes_class_name = volume.spec.volume_attributes_class_name;
  return WriteClaimStatus(pointed, next, ctx);
}

// The newest class that is marked as default; null if there is none.
std::shared_ptr<const StorageClass> DefaultClass(Context& ctx) {
  std::shared_ptr<const StorageClass> newest;
  for (const auto& candidate : ctx.lister<StorageClass>().List()) {
    if (AnnotationOf(candidate->metadata, kDefaultClass) != "true" &&
        AnnotationOf(candidate->metadata, kBetaDefaultClass) != "true")
      continue;
    const bool newer = !newest ||
                       candidate->metadata.creation_timestamp > newest->metadata.creation_timestamp ||
                       (candidate->metadata.creation_timestamp == newest->metadata.creation_timestamp &&
                        candidate->metadata.name < newest->metadata.name);
    if (newer) newest = candidate;
  }
  return newest;
}

std::shared_ptr<const StorageClass> FindClass(const std::string& name, Context& ctx) {
  return name.empty() ? nullptr : ctx.lister<StorageClass>().Get("", name);
}

bool WaitsForPod(const PersistentVolumeClaim& claim, const StorageClass* kind) {
  return kind && kind->volume_binding_mode.value_or("") == "WaitForFirstConsumer" &&
         !claim.metadata.annotations.contains(kSelectedNode);
}

// Tells an outside provisioner that a volume is wanted.
Status AskForVolume(const PersistentVolumeClaim& claim, const StorageClass& kind, Context& ctx) {
  if (kind.provisioner.starts_with(kInTree)) {
    ctx.recorder().Warning(claim, "ProvisioningFailed", "no volume plugin matched name: " + kind.provisioner);
    return {};
  }
  if (AnnotationOf(claim.metadata, kProvisioner) != kind.provisioner) {
    PersistentVolumeClaim next = claim;
    next.metadata.annotations[kProvisioner] = next.metadata.annotations[kBetaProvisioner] = kind.provisioner;
    FLYBALL_TRY(ctx.client().Update(next));
  }
  ctx.recorder().Normal(
      claim, "ExternalProvisioning",
      "Waiting for a volume to be created either by the external provisioner '" + kind.provisioner +
          "' or manually by the system administrator. If volume creation is delayed, please "
          "verify that the provisioner is running and correctly registered.");
  return {};
}

Status SayWhatIsMissing(const PersistentVolumeClaim& claim, const StorageClass* kind, Context& ctx) {
  const std::string name = ClassOf(claim);
  if (WaitsForPod(claim, kind)) {
    ctx.recorder().Normal(claim, "WaitForFirstConsumer",
                          "waiting for first consumer to be created before binding");
  } else if (kind) {
    FLYBALL_TRY(AskForVolume(claim, *kind, ctx));
  } else if (!name.empty()) {
    ctx.recorder().Warning(claim, "ProvisioningFailed",
                           "storageclass.storage.k8s.io \"" + name + "\" not found");
  } else {
    ctx.recorder().Normal(claim, "FailedBinding",
                          "no persistent volumes available for this claim and no storage class is set");
  }
  return {};
}

// The claims that were looked at before and found no volume. Confined to the binder's one worker. Their
// protection finalizer shows them to it once more before they are gone.
using WaitingClaims = std::set<std::string>;  // uids

// How long a claim that has waited still leaves a new volume to the claim it was made for, which comes a
// moment later and asks for it by name. Upstream's waiting claims see new volumes at its next resync only,
// which is this far away at most.
Duration LeftToOthers(const PersistentVolume& volume, const PersistentVolumeClaim& claim,
                      const WaitingClaims& waiting, Context& ctx) {
  constexpr Duration kNewFor = std::chrono::seconds(15);
  if (IsMeantFor(volume, claim) || !volume.metadata.creation_timestamp ||
      !waiting.contains(claim.metadata.uid))
    return {};
  return volume.metadata.creation_timestamp->ToTimePoint() + kNewFor - ctx.Now();
}

Result<Action> BindAny(const PersistentVolumeClaim& claim, WaitingClaims& waiting, Context& ctx) {
  const auto kind = FindClass(ClassOf(claim), ctx);
  const VolumePtr volume =
      FindVolume(claim, ctx.lister<PersistentVolume>().List(), WaitsForPod(claim, kind.get()));
  if (volume) {
    if (const Duration left = LeftToOthers(*volume, claim, waiting, ctx); left > Duration::zero())
      return RequeueAfter(left);
    waiting.erase(claim.metadata.uid);
    FLYBALL_TRY(Bind(*volume, claim, ctx));
    return Done();
  }
  if (!WaitsForPod(claim, kind.get())) waiting.insert(claim.metadata.uid);
  if (const auto by_default = NamesClass(claim) ? nullptr : DefaultClass(ctx)) {
    PersistentVolumeClaim next = claim;
    next.spec.storage_class_name = by_default->metadata.name;
    FLYBALL_TRY(ctx.client().Update(next));
    return Done();
  }
  FLYBALL_TRY(SetPhase(claim, "Pending", ctx));
  FLYBALL_TRY(SayWhatIsMissing(claim, kind.get(), ctx));
  return Done();
}

Status BindNamed(const PersistentVolumeClaim& claim, Context& ctx) {
  const auto volume = ctx.lister<PersistentVolume>().Get("", claim.spec.volume_name);
  if (volume && IsMeantFor(*volume, claim)) return Bind(*volume, claim, ctx);
  FLYBALL_TRY(SetPhase(claim, "Pending", ctx));
  if (!volume) return {};
  if (volume->spec.claim_ref) {
    ctx.recorder().Warning(claim, "FailedBinding",
                           "volume \"" + volume->metadata.name + "\" already bound to a different claim.");
    return {};
  }
  if (const std::string why = WhyUnfit(*volume, claim); !why.empty()) {
    ctx.recorder().Warning(claim, "VolumeMismatch",
                           "Cannot bind to requested volume \"" + volume->metadata.name + "\": " + why);
    return {};
  }
  return Bind(*volume, claim, ctx);
}

Status Lose(const PersistentVolumeClaim& claim, const char* reason, const char* message, Context& ctx) {
  if (claim.status.phase != "Lost") ctx.recorder().Warning(claim, reason, message);
  return SetPhase(claim, "Lost", ctx);
}

Status KeepBound(const PersistentVolumeClaim& claim, Context& ctx) {
  if (claim.spec.volume_name.empty())
    return Lose(claim, "ClaimLost",
                "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!", ctx);
  const auto volume = ctx.lister<PersistentVolume>().Get("", claim.spec.volume_name);
  if (!volume)
    return Lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
                ctx);
  if (volume->spec.claim_ref && !IsMeantFor(*volume, claim))
    return Lose(claim, "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly", ctx);
  return Bind(*volume, claim, ctx);
}

Result<Action> ReconcileClaimBinding(const PersistentVolumeClaim& claim, WaitingClaims& waiting,
                                     Context& ctx) {
  if (claim.metadata.annotations.contains(kBindCompleted)) {
    waiting.erase(claim.metadata.uid);
    FLYBALL_TRY(KeepBound(claim, ctx));
  } else if (IsDeleting(claim.metadata)) {
    waiting.erase(claim.metadata.uid);
    return Done();
  } else if (claim.spec.volume_name.empty()) {
    return BindAny(claim, waiting, ctx);
  } else {
    FLYBALL_TRY(BindNamed(claim, ctx));
  }
  return Done();
}

// What becomes of a volume whose claim is gone.
Status Reclaim(const PersistentVolume& volume, Context& ctx) {
  const std::string& policy = volume.spec.persistent_volume_reclaim_policy;
  const std::string provisioner = AnnotationOf(volume.metadata, kProvisionedBy);
  const bool outside = !provisioner.empty() && !provisioner.starts_with(kInTree);
  if (policy == "Retain" || policy.empty() || (policy == "Delete" && outside))
    return SetPhase(volume, "Released", "", ctx);
  const bool recycles = policy == "Recycle";
  const std::string message = recycles ? "No recycler plugin found for the volume!"
                                       : "error getting deleter volume plugin for volume \"" +
                                             volume.metadata.name + "\": no deletable volume plugin matched";
  if (volume.status.phase != "Failed")
    ctx.recorder().Warning(volume, recycles ? "VolumeFailedRecycle" : "VolumeFailedDelete", message);
  return SetPhase(volume, "Failed", message, ctx);
}

// The claim has taken another volume: this one is free again, or waits for its claim if that was written by
// hand.
Status Unbind(const PersistentVolume& volume, Context& ctx) {
  PersistentVolume next = volume;
  if (next.metadata.annotations.erase(kBoundByController) > 0)
    next.spec.claim_ref.reset();
  else
    next.spec.claim_ref->uid.clear();
  FLYBALL_ASSIGN(const PersistentVolume unbound, ctx.client().Update(next));
  return SetPhase(unbound, "Available", "", ctx);
}

Result<Action> ReconcileVolumeBinding(const PersistentVolume& volume, Context& ctx) {
  const auto& reference = volume.spec.claim_ref;
  if (!reference || reference->uid.empty()) {
    FLYBALL_TRY(SetPhase(volume, "Available", "", ctx));
    return Done();
  }
  // The cache may not have a new claim yet, and a volume is not released by mistake.
  const auto claim = ctx.client().Get<PersistentVolumeClaim>(reference->namespace_, reference->name);
  if (!claim && !claim.error().Is(Reason::kNotFound)) return Unexpected(claim.error());
  if (!claim || claim->metadata.uid != reference->uid) {
    FLYBALL_TRY(Reclaim(volume, ctx));
  } else if (claim->spec.volume_name == volume.metadata.name) {
    FLYBALL_TRY(SetPhase(volume, "Bound", "", ctx));
  } else if (!claim->spec.volume_name.empty()) {
    FLYBALL_TRY(Unbind(volume, ctx));
  }
  return Done();
}

}  // namespace

Status AddVolumeBinderController(Manager& manager) {
  const auto claims = manager.informers().For<PersistentVolumeClaim>().lister();
  const auto unbound = [claims] {
    std::vector<ObjectKey> keys;
    for (const auto& claim : claims.List())
      if (!claim->metadata.annotations.contains(kBindCompleted))
        keys.push_back({claim->metadata.namespace_, claim->metadata.name});
    return keys;
  };
  // One worker: two claims never try for the same volume.
  FLYBALL_TRY(manager.For<PersistentVolumeClaim>()
                  .Named("persistentvolume-binder-controller")
                  .EventSource(kEventSource)
                  .Watches<PersistentVolume>([unbound](const PersistentVolume& volume) {
                    std::vector<ObjectKey> keys;
                    if (const auto& reference = volume.spec.claim_ref)
                      keys.push_back({reference->namespace_, reference->name});
                    else
                      keys = unbound();
                    return keys;
                  })
                  .Watches<StorageClass>([unbound](const StorageClass&) { return unbound(); })
                  .Workers(1)
                  .Reconcile([waiting = std::make_shared<WaitingClaims>()](const PersistentVolumeClaim& claim,
                                                                           Context& ctx) {
                    return ReconcileClaimBinding(claim, *waiting, ctx);
                  }));
  const auto volumes = manager.informers().For<PersistentVolume>().lister();
  return manager.For<PersistentVolume>()
      .Named("persistentvolume-binder-controller-volumes")
      .EventSource(kEventSource)
      .Watches<PersistentVolumeClaim>([volumes](const PersistentVolumeClaim& claim) {
        std::vector<ObjectKey> keys;
        for (const auto& volume : volumes.List())
          if (volume->metadata.name == claim.spec.volume_name || IsMeantFor(*volume, claim))
            keys.push_back({"", volume->metadata.name});
        return keys;
      })
      .Workers(1)
      .Reconcile(&ReconcileVolumeBinding);
}

}  // namespace flyball::controllers
