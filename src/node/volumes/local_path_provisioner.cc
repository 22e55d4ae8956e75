#include "node/volumes/local_path_provisioner.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "base/files/durable_file.h"
#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

constexpr char kProvisionedBy[] = "pv.kubernetes.io/provisioned-by";
// What the volume binder writes on a claim that needs a new volume.
constexpr char kWantedOf[] = "volume.kubernetes.io/storage-provisioner";
// Whoever the containers' users are.
constexpr mode_t kVolumeMode = 0777;

bool Has(const ObjectMeta& metadata, const char* annotation, const char* value) {
  const auto found = metadata.annotations.find(annotation);
  return found != metadata.annotations.end() && found->second == value;
}

bool IsOurs(const PersistentVolume& volume) {
  return Has(volume.metadata, kProvisionedBy, kLocalPathProvisioner) && volume.spec.host_path &&
         volume.spec.claim_ref;
}

// "pvc-<uid>_<namespace>_<claim>", for people who look at the disk.
std::string FolderName(const std::string& volume, const std::string& ns, const std::string& claim) {
  return volume + "_" + ns + "_" + claim;
}

Status MakeVolumeFolder(const std::string& folder, const std::string& name) {
  FLYBALL_TRY(MakePrivateFolder(folder));
  const std::string path = folder + "/" + name;
  if (mkdir(path.c_str(), kVolumeMode) != 0 && errno != EEXIST)
    return Unexpected(InternalError(path + ": " + std::strerror(errno)));
  // Past the umask.
  if (chmod(path.c_str(), kVolumeMode) != 0)
    return Unexpected(InternalError(path + ": " + std::strerror(errno)));
  return SyncFolderOf(path);
}

PersistentVolume VolumeFor(const PersistentVolumeClaim& claim, const StorageClass& kind,
                           const std::string& name, const std::string& path) {
  PersistentVolume volume;
  volume.metadata.name = name;
  volume.metadata.annotations[kProvisionedBy] = kLocalPathProvisioner;
  volume.spec.capacity = claim.spec.resources.requests;
  volume.spec.access_modes = claim.spec.access_modes;
  volume.spec.persistent_volume_reclaim_policy = kind.reclaim_policy.value_or("Delete");
  volume.spec.storage_class_name = kind.metadata.name;
  // Not made again by whoever mounts it: an empty folder in place of lost data would be a lie.
  volume.spec.host_path = HostPathVolumeSource{.path = path, .type = "Directory"};
  volume.spec.claim_ref = ObjectReference{.kind = "PersistentVolumeClaim",
                                          .namespace_ = claim.metadata.namespace_,
                                          .name = claim.metadata.name,
                                          .uid = claim.metadata.uid,
                                          .api_version = "v1",
                                          .resource_version = claim.metadata.resource_version};
  return volume;
}

// A folder has the room of its disk: growing is a matter of what the objects say (upstream:
// external-resizer).
Status Grow(const PersistentVolumeClaim& claim, Context& ctx) {
  constexpr char kStorage[] = "storage";
  const auto volume = ctx.lister<PersistentVolume>().Get("", claim.spec.volume_name);
  const auto wanted = claim.spec.resources.requests.find(kStorage);
  if (!volume || !IsOurs(*volume) || wanted == claim.spec.resources.requests.end()) return {};
  if (claim.status.phase != "Bound" || volume->spec.claim_ref->uid != claim.metadata.uid) return {};
  const auto has = [&](const std::map<std::string, api::Quantity>& capacity) {
    const auto found = capacity.find(kStorage);
    return found != capacity.end() && (found->second - wanted->second).Sign() >= 0;
  };
  if (!has(volume->spec.capacity)) {
    PersistentVolume next = *volume;
    next.spec.capacity[kStorage] = wanted->second;
    FLYBALL_TRY(ctx.client().Update(next));
  }
  if (has(claim.status.capacity)) return {};
  PersistentVolumeClaim next = claim;
  next.status.capacity[kStorage] = wanted->second;
  FLYBALL_TRY(ctx.client().UpdateStatus(next));
  ctx.recorder().Normal(claim, "VolumeResizeSuccessful", "Resize volume succeeded");
  return {};
}

Result<Action> Provision(const PersistentVolumeClaim& claim, const std::string& folder, Context& ctx) {
  if (claim.metadata.deletion_timestamp) return Done();
  if (!claim.spec.volume_name.empty()) {
    FLYBALL_TRY(Grow(claim, ctx));
    return Done();
  }
  if (!Has(claim.metadata, kWantedOf, kLocalPathProvisioner)) return Done();
  const auto kind = ctx.lister<StorageClass>().Get("", claim.spec.storage_class_name.value_or(""));
  if (!kind || kind->provisioner != kLocalPathProvisioner) return Done();
  if (claim.spec.volume_mode.value_or("Filesystem") != "Filesystem") {
    ctx.recorder().Warning(claim, "ProvisioningFailed",
                           "failed to provision volume with StorageClass \"" + kind->metadata.name +
                               "\": block volumes are not supported");
    return Done();
  }
  const std::string name = "pvc-" + claim.metadata.uid;
  if (ctx.lister<PersistentVolume>().Get("", name)) return Done();
  const std::string part = FolderName(name, claim.metadata.namespace_, claim.metadata.name);
  FLYBALL_TRY(MakeVolumeFolder(folder, part));
  const auto created = ctx.client().Create(VolumeFor(claim, *kind, name, folder + "/" + part));
  if (!created && !created.error().Is(Reason::kAlreadyExists)) return Unexpected(created.error());
  ctx.recorder().Normal(claim, "ProvisioningSucceeded", "Successfully provisioned volume " + name);
  return Done();
}

// A volume that nobody claims any more goes, with its data. Only what this provisioner makes, below its
// folder, whatever the object says.
Result<Action> Reclaim(const PersistentVolume& volume, const std::string& folder, Context& ctx) {
  if (!IsOurs(volume) || volume.status.phase != "Released") return Done();
  if (volume.spec.persistent_volume_reclaim_policy != "Delete") return Done();
  const ObjectReference& claim = *volume.spec.claim_ref;
  const std::string part = FolderName(volume.metadata.name, claim.namespace_, claim.name);
  if (volume.spec.host_path->path != folder + "/" + part) return Done();
  const OwnedFd parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) FLYBALL_TRY(RemoveTree(parent.get(), part));
  FLYBALL_TRY(ctx.client().Delete<PersistentVolume>("", volume.metadata.name, {.uid = volume.metadata.uid}));
  return Done();
}

}  // namespace

json::Value LocalPathClass() {
  return json::Object{
      {"apiVersion", "storage.k8s.io/v1"},
      {"kind", "StorageClass"},
      {"metadata",
       json::Object{{"name", "local-path"},
                    {"annotations", json::Object{{"storageclass.kubernetes.io/is-default-class", "true"}}}}},
      {"provisioner", kLocalPathProvisioner},
      {"reclaimPolicy", "Delete"},
      {"allowVolumeExpansion", true},
      {"volumeBindingMode", "Immediate"}};
}

Status AddLocalPathProvisioner(Manager& manager, const std::string& folder) {
  FLYBALL_TRY(manager.For<PersistentVolumeClaim>()
                  .Named("local-path-provisioner")
                  .EventSource(kLocalPathProvisioner)
                  .Watches<StorageClass>([](const StorageClass&) { return std::vector<ObjectKey>(); })
                  .Watches<PersistentVolume>([](const PersistentVolume&) { return std::vector<ObjectKey>(); })
                  .Workers(1)
                  .Reconcile([folder](const PersistentVolumeClaim& claim, Context& ctx) {
                    return Provision(claim, folder, ctx);
                  }));
  return manager.For<PersistentVolume>()
      .Named("local-path-provisioner-volumes")
      .EventSource(kLocalPathProvisioner)
      .Workers(1)
      .Reconcile(
          [folder](const PersistentVolume& volume, Context& ctx) { return Reclaim(volume, folder, ctx); });
}

}  // namespace flyball::node
