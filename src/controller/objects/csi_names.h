// Names that the attach/detach controller and the nodes agree on for volumes of CSI drivers (upstream:
// pkg/volume/csi). Functions only; thread-safe.
#pragma once

#include <string>

namespace flyball {

// "csi-<hash>": of the VolumeAttachment (upstream: getAttachmentName).
std::string CsiAttachmentName(const std::string& driver, const std::string& handle, const std::string& node);

// "kubernetes.io/csi/<driver>^<handle>": in volumesInUse and volumesAttached of a Node's status.
std::string CsiUniqueVolumeName(const std::string& driver, const std::string& handle);

}  // namespace flyball
