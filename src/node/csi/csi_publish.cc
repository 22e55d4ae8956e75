// How a CSI volume gets to a pod: attached, staged, published, owned.
#include <algorithm>

#include "controller/objects/csi_names.h"
#include "json/json.h"
#include "net/tls/pki.h"
#include "node/csi/csi_volumes.h"
#include "node/csi/volume_ownership.h"

namespace flyball::node {
namespace {

constexpr char kCsiLog[] = "kubernetes.io/csi: ";

Error NotAttached(const std::string& why) {
  return Error(Reason::kInternalError, 500, why, {.causes = {{kNotAttachedCause, why, ""}}});
}

std::optional<gid_t> FsGroupOf(const Pod& pod) {
  const auto& context = pod.spec.security_context;
  if (!context || !context->fs_group) return std::nullopt;
  return static_cast<gid_t>(*context->fs_group);
}

CsiMap PodInfoOf(const Pod& pod, bool ephemeral) {
  return {{"csi.storage.k8s.io/pod.name", pod.metadata.name},
          {"csi.storage.k8s.io/pod.namespace", pod.metadata.namespace_},
          {"csi.storage.k8s.io/pod.uid", pod.metadata.uid},
          {"csi.storage.k8s.io/serviceAccount.name", pod.spec.service_account_name},
          {"csi.storage.k8s.io/ephemeral", ephemeral ? "true" : "false"}};
}

void MergeMaps(CsiMap& into, const CsiMap& from) {
  for (const auto& [key, value] : from) into[key] = value;
}

// As Go's %q shows a list.
std::string QuotedModes(const std::vector<std::string>& modes) {
  std::string out;
  for (const std::string& mode : modes) out += (out.empty() ? "\"" : " \"") + mode + "\"";
  return "[" + out + "]";
}

// Upstream: csiMountMgr.supportsFSGroup.
bool NodeOwns(const CsiVolume& volume, const std::string& policy) {
  if (policy == "None" || volume.read_only) return false;
  if (policy == "File") return true;
  if (volume.fs_type.empty()) return false;
  return volume.ephemeral ||
         std::any_of(volume.access_modes.begin(), volume.access_modes.end(), [](const std::string& mode) {
           return mode == "ReadWriteOnce" || mode == "ReadWriteOncePod";
         });
}

}  // namespace

// First the Node says that the volume is in use, then the controller that it is attached: from then on it is
// not detached before the Node says otherwise (upstream: VerifyControllerAttachedVolume, WaitForAttach).
Status CsiVolumes::WaitUntilAttached(Mounting& mounting) {
  const CsiVolume& volume = mounting.volume;
  Hold(RecordOf(mounting), mounting.pod.metadata.uid);
  const std::string unique = CsiUniqueVolumeName(volume.driver, volume.handle);
  FLYBALL_ASSIGN(const Node node, client_.Get<Node>("", records_.node()));
  const auto& in_use = node.status.volumes_in_use;
  if (std::find(in_use.begin(), in_use.end(), unique) == in_use.end())
    return Unexpected(
        NotAttached("Volume has not been added to the list of VolumesInUse in the node's volume status for "
                    "volume \"" +
                    volume.name + "\" "));
  const auto& attached = node.status.volumes_attached;
  if (std::none_of(attached.begin(), attached.end(),
                   [&](const AttachedVolume& known) { return known.name == unique; }))
    return Unexpected(
        NotAttached("Volume not attached according to node status for volume \"" + volume.name + "\" "));
  const std::string id = CsiAttachmentName(volume.driver, volume.handle, records_.node());
  const auto refuse = [&](const std::string& why) {
    return Unexpected(
        InternalError("MountVolume.WaitForAttach failed for volume \"" + volume.name + "\" : " + why));
  };
  const auto attachment = client_.Get<VolumeAttachment>("", id);
  if (!attachment)
    return refuse("volume " + volume.handle + " has GET error for volume attachment " + id + ": " +
                  attachment.error().message());
  if (attachment->metadata.deletion_timestamp) return refuse("volume attachment is being deleted");
  const VolumeAttachmentStatus& status = attachment->status;
  if (!status.attached)
    return refuse(status.attach_error
                      ? status.attach_error->message
                      : "volume " + volume.handle + " is not attached for volume attachment " + id);
  mounting.publish_context = status.attachment_metadata;
  return {};
}

Result<CsiMap> CsiVolumes::SecretData(const std::optional<SecretReference>& ref,
                                      const std::string& what) const {
  CsiMap data;
  if (!ref) return data;
  const auto secret = client_.Of<Secret>().Get(ref->namespace_, ref->name);
  if (!secret)
    return Unexpected(InternalError("fetching " + what + " " + ref->namespace_ + "/" + ref->name +
                                    " failed: " + kCsiLog + "failed to find the secret " + ref->name +
                                    " in the namespace " + ref->namespace_ +
                                    " with error: " + secret.error().message()));
  if (const json::Value* members = secret->Find("data"); members && members->is_object())
    for (const auto& [key, value] : members->as_object())
      if (const auto decoded = net::Base64Decode(std::string(value.string_or("")))) data[key] = *decoded;
  return data;
}

CsiMountCapability CsiVolumes::CapabilityOf(const Mounting& mounting) const {
  const CsiVolume& volume = mounting.volume;
  CsiMountCapability capability{
      .fs_type = volume.fs_type,
      .mount_flags = volume.mount_options,
      .mount_group = {},
      .access_mode = CsiAccessModeOf(volume.access_mode(), mounting.abilities.single_node_multi_writer)};
  if (const auto group = FsGroupOf(mounting.pod); group && mounting.abilities.mount_group)
    capability.mount_group = std::to_string(*group);
  return capability;
}

Status CsiVolumes::Stage(const Mounting& mounting) {
  const std::string& path = mounting.staging_path;
  if (path.empty()) return {};
  {
    MutexLock lock(mu_);
    if (staged_.contains(path)) return {};
  }
  const CsiVolume& volume = mounting.volume;
  CsiStageRequest request{.volume_id = volume.handle,
                          .staging_path = path,
                          .capability = CapabilityOf(mounting),
                          .publish_context = mounting.publish_context,
                          .secrets = {},
                          .volume_context = volume.attributes};
  FLYBALL_ASSIGN(request.secrets, SecretData(volume.stage_secret, "NodeStageSecretRef"));
  const CsiRecord record = RecordOf(mounting);
  FLYBALL_TRY(records_.Write(path, record));
  if (mounting.attachable) Hold(record, kStagedHolder);
  FLYBALL_TRY(records_.MakeFolder(path));
  if (const Status staged = mounting.driver->Stage(request); !staged) {
    if (IsFinalCsiError(staged.error()) && records_.Remove(path))
      LetGo(kStagedHolder, CsiUniqueVolumeName(volume.driver, volume.handle));
    return staged;
  }
  MutexLock lock(mu_);
  staged_.insert(path);
  return {};
}

// What the driver can be used for (upstream: supportsVolumeLifecycleMode), and whether somebody else has it.
Status CsiVolumes::CheckUse(const Mounting& mounting) const {
  const CsiVolume& volume = mounting.volume;
  const std::string mode = volume.ephemeral ? "Ephemeral" : "Persistent";
  const std::string refused = std::string(kCsiLog) +
                              "mounter.SetupAt failed to check volume lifecycle mode: volume mode \"" + mode +
                              "\" not supported by driver " + volume.driver;
  if (!mounting.kind && volume.ephemeral) return Unexpected(BadRequest(refused + " (no CSIDriver object)"));
  if (mounting.kind) {
    const auto& modes = mounting.kind->spec.volume_lifecycle_modes;
    if (std::find(modes.begin(), modes.end(), mode) == modes.end())
      return Unexpected(BadRequest(refused + " (only supports " + QuotedModes(modes) + ")"));
  }
  if (volume.access_modes != std::vector<std::string>{"ReadWriteOncePod"}) return {};
  for (const CsiRecord& other : records_.Published())
    if (other.driver == volume.driver && other.handle == volume.handle &&
        other.pod_uid != mounting.pod.metadata.uid)
      return Unexpected(
          BadRequest("volume uses the ReadWriteOncePod access mode and is already in use by another pod"));
  return {};
}

// Tokens of the pod's service account that the driver wants, under the name by which it finds them.
Result<CsiMap> CsiVolumes::TokensFor(const Mounting& mounting) const {
  if (!mounting.kind || mounting.kind->spec.token_requests.empty()) return CsiMap();
  const Pod& pod = mounting.pod;
  json::Object tokens;
  for (const auto& wanted : mounting.kind->spec.token_requests) {
    json::Object spec{
        {"audiences", json::Array()},
        {"boundObjectRef",
         json::Object{
             {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.metadata.name}, {"uid", pod.metadata.uid}}}};
    if (!wanted.audience.empty()) spec.Set("audiences", json::Array{wanted.audience});
    if (wanted.expiration_seconds) spec.Set("expirationSeconds", *wanted.expiration_seconds);
    const json::Value request = json::Object{
        {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", std::move(spec)}};
    FLYBALL_ASSIGN(const json::Value made,
                   client_.Of<ServiceAccount>().CreateSubresource(
                       pod.metadata.namespace_, pod.spec.service_account_name, "token", request));
    const json::Value& status = made["status"];
    tokens.Set(wanted.audience, json::Object{{"token", status["token"]},
                                             {"expirationTimestamp", status["expirationTimestamp"]}});
  }
  return CsiMap{{"csi.storage.k8s.io/serviceAccount.tokens", json::Write(json::Value(std::move(tokens)))}};
}

Status CsiVolumes::Publish(const Mounting& mounting, bool again) {
  const CsiVolume& volume = mounting.volume;
  FLYBALL_TRY(CheckUse(mounting));
  CsiPublishRequest request{.volume_id = volume.handle,
                            .staging_path = mounting.staging_path,
                            .target_path = mounting.target_path,
                            .capability = CapabilityOf(mounting),
                            .read_only = volume.read_only,
                            .publish_context = mounting.publish_context,
                            .secrets = {},
                            .volume_context = volume.attributes};
  FLYBALL_ASSIGN(request.secrets, SecretData(volume.publish_secret, "NodePublishSecretRef"));
  if (mounting.kind && mounting.kind->spec.pod_info_on_mount.value_or(false))
    MergeMaps(request.volume_context, PodInfoOf(mounting.pod, volume.ephemeral));
  const auto tokens = TokensFor(mounting);
  if (!tokens)
    return Unexpected(tokens.error().Annotate(
        std::string(kCsiLog) + "mounter.SetUpAt failed to get service accoount token attributes"));
  const bool secret = mounting.kind && mounting.kind->spec.service_account_token_in_secrets.value_or(false);
  MergeMaps(secret ? request.secrets : request.volume_context, *tokens);
  FLYBALL_TRY(records_.Write(mounting.target_path, RecordOf(mounting)));
  if (const Status published = mounting.driver->Publish(request); !published) {
    // A volume that a container has stays as it is.
    if (!again && IsFinalCsiError(published.error())) (void)records_.Remove(mounting.target_path);
    return published;
  }
  return again ? Status() : GiveAway(mounting);
}

Status CsiVolumes::GiveAway(const Mounting& mounting) const {
  const auto group = FsGroupOf(mounting.pod);
  if (!group || mounting.abilities.mount_group) return {};
  std::string policy = "ReadWriteOnceWithFSType";
  if (mounting.kind) policy = mounting.kind->spec.fs_group_policy.value_or(policy);
  if (!NodeOwns(mounting.volume, policy)) return {};
  const std::string change = mounting.pod.spec.security_context->fs_group_change_policy.value_or("Always");
  if (const Status given = GiveToGroup(mounting.target_path, *group, false, change); !given)
    return Unexpected(given.error().Annotate("applyFSGroup failed for vol " + mounting.volume.handle));
  return {};
}

}  // namespace flyball::node
