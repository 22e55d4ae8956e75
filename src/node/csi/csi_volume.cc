#include "node/csi/csi_volume.h"

#include "net/tls/pki.h"

namespace flyball::node {
namespace {

std::optional<SecretReference> CsiSecretOf(const api::Optional<SecretReference>& ref) {
  if (!ref) return std::nullopt;
  return *ref;
}

}  // namespace

CsiVolume InlineCsiVolume(const Pod& pod, const Volume& volume) {
  const CSIVolumeSource& source = *volume.csi;
  CsiVolume out{.name = volume.name,
                .driver = source.driver,
                .handle = "csi-" + net::HexEncode(net::Sha256(pod.metadata.uid + volume.name)),
                .fs_type = source.fs_type.value_or(""),
                .ephemeral = true,
                .read_only = source.read_only.value_or(false),
                .attributes = source.volume_attributes};
  if (const auto& ref = source.node_publish_secret_ref)
    out.publish_secret = SecretReference{.name = ref->name, .namespace_ = pod.metadata.namespace_};
  return out;
}

Result<CsiVolume> PersistentCsiVolume(const PersistentVolume& volume, bool read_only) {
  if (volume.spec.volume_mode.value_or("Filesystem") == "Block")
    return Unexpected(BadRequest("persistent volume \"" + volume.metadata.name +
                                 "\" is a block device, which this node does not support"));
  const CSIPersistentVolumeSource& source = *volume.spec.csi;
  CsiVolume out{.name = volume.metadata.name,
                .driver = source.driver,
                .handle = source.volume_handle,
                .fs_type = source.fs_type,
                .read_only = read_only,
                .attributes = source.volume_attributes,
                .mount_options = volume.spec.mount_options,
                .access_modes = volume.spec.access_modes,
                .stage_secret = CsiSecretOf(source.node_stage_secret_ref),
                .publish_secret = CsiSecretOf(source.node_publish_secret_ref),
                .expand_secret = CsiSecretOf(source.node_expand_secret_ref)};
  const auto storage = volume.spec.capacity.find("storage");
  if (storage != volume.spec.capacity.end()) out.capacity = storage->second;
  if (volume.spec.claim_ref) out.claim = *volume.spec.claim_ref;
  return out;
}

}  // namespace flyball::node
