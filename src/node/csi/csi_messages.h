// The messages of csi.v1's Node service (container-storage-interface/spec, csi.proto), by field number.
// Fields that are not needed are not read. Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

using CsiMap = std::map<std::string, std::string>;

// What a driver says about itself on this node.
struct CsiNodeInfo {
  std::string node_id;
  std::int64_t max_volumes = 0;  // 0: it does not say
  CsiMap topology;
};
Result<CsiNodeInfo> DecodeCsiNodeInfo(std::string_view bytes);

// NodeServiceCapability.RPC.Type.
enum class CsiNodeCapability : std::int64_t {
  kStageUnstage = 1,
  kVolumeStats = 2,
  kExpand = 3,
  kSingleNodeMultiWriter = 5,
  kVolumeMountGroup = 6,
};
// As numbers; a driver may have some that are not known here.
Result<std::vector<std::int64_t>> DecodeCsiNodeCapabilities(std::string_view bytes);

// VolumeCapability.AccessMode.Mode.
enum class CsiAccessMode : std::int64_t {
  kUnknown = 0,
  kSingleNodeWriter = 1,
  kMultiNodeReaderOnly = 3,
  kMultiNodeMultiWriter = 5,
  kSingleNodeSingleWriter = 6,
  kSingleNodeMultiWriter = 7,
};
// Of an access mode of Kubernetes. `fine`: the driver tells one writer on a node from several.
CsiAccessMode CsiAccessModeOf(std::string_view access_mode, bool fine);

// How a volume is used: as a file system.
struct CsiMountCapability {
  std::string fs_type;
  std::vector<std::string> mount_flags;
  std::string mount_group;  // a group's number; empty: none
  CsiAccessMode access_mode = CsiAccessMode::kUnknown;
};

struct CsiStageRequest {
  std::string volume_id, staging_path;
  CsiMountCapability capability;
  CsiMap publish_context, secrets, volume_context;
};
std::string Encode(const CsiStageRequest& request);
std::string CsiUnstageRequest(std::string_view volume_id, std::string_view staging_path);

struct CsiPublishRequest {
  std::string volume_id, staging_path, target_path;
  CsiMountCapability capability;
  bool read_only = false;
  CsiMap publish_context, secrets, volume_context;
};
std::string Encode(const CsiPublishRequest& request);
std::string CsiUnpublishRequest(std::string_view volume_id, std::string_view target_path);

struct CsiExpandRequest {
  std::string volume_id, volume_path, staging_path;
  std::int64_t bytes = 0;
  CsiMountCapability capability;
  CsiMap secrets;
};
std::string Encode(const CsiExpandRequest& request);

}  // namespace flyball::node
