// CsiVolume: what a pod wants of a CSI driver, wherever the pod says it: inline, or by a claim's volume.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "node/csi/csi_messages.h"

namespace flyball::node {

// A value.
struct CsiVolume {
  std::string name;  // the persistent volume's, or the one in the pod
  std::string driver, handle, fs_type;
  bool ephemeral = false;  // lives and dies with the pod
  bool read_only = false;
  CsiMap attributes{};
  std::vector<std::string> mount_options{};
  std::vector<std::string> access_modes{};
  std::optional<SecretReference> stage_secret{}, publish_secret{}, expand_secret{};
  std::optional<api::Quantity> capacity{};  // of the persistent volume
  std::optional<ObjectReference> claim{};   // that it is bound to

  // The first of its access modes.
  std::string access_mode() const { return access_modes.empty() ? "ReadWriteOnce" : access_modes.front(); }
};

// Of a volume of the pod with a `csi` source.
CsiVolume InlineCsiVolume(const Pod& pod, const Volume& volume);
// Of a persistent volume with one. BadRequest if it is a block device, which this node does not hand out.
Result<CsiVolume> PersistentCsiVolume(const PersistentVolume& volume, bool read_only);

}  // namespace flyball::node
