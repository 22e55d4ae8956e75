// CSI volumes that have grown: the node's part of it (upstream: operationexecutor/node_expander.go).
#include "base/observe/log.h"
#include "node/csi/csi_volumes.h"

namespace flyball::node {
namespace {

constexpr char kStorageResource[] = "storage";

// Upstream: knownResizeConditions.
bool IsResizeCondition(const std::string& type) {
  return type == "FileSystemResizePending" || type == "Resizing" || type == "ControllerResizeError" ||
         type == "NodeResizeError";
}

std::string ResizeStatusOf(const PersistentVolumeClaim& claim) {
  const auto found = claim.status.allocated_resource_statuses.find(kStorageResource);
  return found == claim.status.allocated_resource_statuses.end() ? "" : found->second;
}

}  // namespace

Status CsiVolumes::Expand(const Mounting& mounting) {
  const CsiVolume& volume = mounting.volume;
  if (!volume.claim || !volume.capacity) return {};
  FLYBALL_ASSIGN(const PersistentVolumeClaim claim,
                 client_.Get<PersistentVolumeClaim>(volume.claim->namespace_, volume.claim->name));
  const auto has = claim.status.capacity.find(kStorageResource);
  if (has == claim.status.capacity.end() || (*volume.capacity - has->second).Sign() <= 0) return {};
  const std::string status = ResizeStatusOf(claim);
  const auto allocated = claim.status.allocated_resources.find(kStorageResource);
  const bool recovers = !status.empty() || allocated != claim.status.allocated_resources.end();
  if (recovers && status != "NodeResizePending" && status != "NodeResizeInProgress") return {};
  const bool says_size = recovers && allocated != claim.status.allocated_resources.end();
  return ExpandTo(mounting, claim, says_size ? allocated->second : *volume.capacity);
}

Status CsiVolumes::ExpandTo(const Mounting& mounting, const PersistentVolumeClaim& claim,
                            const api::Quantity& size) {
  const CsiVolume& volume = mounting.volume;
  const std::string for_volume = " for volume \"" + volume.name + "\" ";
  const auto say = [&](bool well, const char* reason, const std::string& message) {
    recorder_.Record(TargetOf(mounting.pod), well ? "Normal" : "Warning", reason, message);
    recorder_.Record(TargetOf(claim), well ? "Normal" : "Warning", reason, message);
  };
  if (volume.read_only) {
    say(false, "FileSystemResizeFailed",
        "MountVolume.NodeExpandVolume failed" + for_volume + "requested read-only file system");
    return {};
  }
  const bool recovers = !ResizeStatusOf(claim).empty();
  if (!mounting.abilities.expand) {
    if (!recovers) return {};
    return Unexpected(InternalError("NodeExpand is not supported by the CSI driver " + volume.driver));
  }
  PersistentVolumeClaim next = claim;
  if (recovers && ResizeStatusOf(claim) != "NodeResizeInProgress") {
    next.status.allocated_resource_statuses[kStorageResource] = "NodeResizeInProgress";
    FLYBALL_ASSIGN(next, client_.UpdateStatus(next));
  }
  CsiExpandRequest request{.volume_id = volume.handle,
                           .volume_path = mounting.target_path,
                           .staging_path = mounting.staging_path,
                           .bytes = size.Value(),
                           .capability = CapabilityOf(mounting),
                           .secrets = {}};
  request.capability.mount_group.clear();
  FLYBALL_ASSIGN(request.secrets, SecretData(volume.expand_secret, "NodeExpandSecretRef"));
  if (const Status grown = mounting.driver->Expand(request); !grown) {
    log::Warning("volume not expanded", {{"volume", volume.name}, {"error", grown.error().message()}});
    // The driver does not do that while the volume is used: no reason not to use it.
    if (grown.error().message().starts_with("rpc error: code = FailedPrecondition")) return {};
    return Unexpected(grown.error().Annotate("Expander.NodeExpand failed to expand the volume "));
  }
  say(true, "FileSystemResizeSuccessful",
      "MountVolume.NodeExpandVolume succeeded" + for_volume + records_.node());
  next.status.capacity[kStorageResource] = size;
  next.status.allocated_resource_statuses.erase(kStorageResource);
  std::erase_if(next.status.conditions, [](const PersistentVolumeClaimCondition& condition) {
    return IsResizeCondition(condition.type);
  });
  FLYBALL_TRY(client_.UpdateStatus(next));
  return {};
}

}  // namespace flyball::node
