#include "node/csi/csi_messages.h"

#include "base/values/protobuf_fields.h"

namespace flyball::node {
namespace {

constexpr char kDriversAnswer[] = "the CSI driver's answer";

std::string EncodeCapability(const CsiMountCapability& capability) {
  std::string mount, mode, out;
  WireWriter mount_writer(mount);
  PutText(mount_writer, 1, capability.fs_type);
  PutTexts(mount_writer, 2, capability.mount_flags);
  PutText(mount_writer, 3, capability.mount_group);
  WireWriter mode_writer(mode);
  PutInt(mode_writer, 1, static_cast<std::int64_t>(capability.access_mode));
  WireWriter writer(out);
  writer.Bytes(2, mount);  // a member of a oneof: written even if it is empty
  writer.Bytes(3, mode);
  return out;
}

std::string TwoTexts(std::string_view first, std::string_view second) {
  std::string out;
  WireWriter writer(out);
  PutText(writer, 1, first);
  PutText(writer, 2, second);
  return out;
}

}  // namespace

Result<CsiNodeInfo> DecodeCsiNodeInfo(std::string_view bytes) {
  CsiNodeInfo info;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kDriversAnswer, [&](WireReader& field) {
    return TakeText(field, 1, info.node_id) || TakeInt(field, 2, info.max_volumes) ||
           TakeMessage(field, 3, status, [&](std::string_view topology) {
             return ReadFields(topology, kDriversAnswer,
                               [&](WireReader& segment) { return TakeEntry(segment, 1, info.topology); });
           });
  }));
  FLYBALL_TRY(status);
  return info;
}

Result<std::vector<std::int64_t>> DecodeCsiNodeCapabilities(std::string_view bytes) {
  std::vector<std::int64_t> types;
  Status status;
  const auto read_rpc = [&](std::string_view rpc) {
    return ReadFields(rpc, kDriversAnswer,
                      [&](WireReader& field) { return TakeInt(field, 1, types.emplace_back()); });
  };
  const auto read_capability = [&](std::string_view capability) {
    return ReadFields(capability, kDriversAnswer,
                      [&](WireReader& field) { return TakeMessage(field, 1, status, read_rpc); });
  };
  FLYBALL_TRY(ReadFields(bytes, kDriversAnswer,
                         [&](WireReader& field) { return TakeMessage(field, 1, status, read_capability); }));
  FLYBALL_TRY(status);
  return types;
}

CsiAccessMode CsiAccessModeOf(std::string_view access_mode, bool fine) {
  if (access_mode == "ReadWriteOnce")
    return fine ? CsiAccessMode::kSingleNodeMultiWriter : CsiAccessMode::kSingleNodeWriter;
  if (access_mode == "ReadWriteOncePod")
    return fine ? CsiAccessMode::kSingleNodeSingleWriter : CsiAccessMode::kSingleNodeWriter;
  if (access_mode == "ReadOnlyMany") return CsiAccessMode::kMultiNodeReaderOnly;
  if (access_mode == "ReadWriteMany") return CsiAccessMode::kMultiNodeMultiWriter;
  return CsiAccessMode::kUnknown;
}

std::string Encode(const CsiStageRequest& request) {
  std::string out;
  WireWriter writer(out);
  PutText(writer, 1, request.volume_id);
  PutEntries(writer, 2, request.publish_context);
  PutText(writer, 3, request.staging_path);
  writer.Bytes(4, EncodeCapability(request.capability));
  PutEntries(writer, 5, request.secrets);
  PutEntries(writer, 6, request.volume_context);
  return out;
}

std::string CsiUnstageRequest(std::string_view volume_id, std::string_view staging_path) {
  return TwoTexts(volume_id, staging_path);
}

std::string Encode(const CsiPublishRequest& request) {
  std::string out;
  WireWriter writer(out);
  PutText(writer, 1, request.volume_id);
  PutEntries(writer, 2, request.publish_context);
  PutText(writer, 3, request.staging_path);
  PutText(writer, 4, request.target_path);
  writer.Bytes(5, EncodeCapability(request.capability));
  PutInt(writer, 6, request.read_only ? 1 : 0);
  PutEntries(writer, 7, request.secrets);
  PutEntries(writer, 8, request.volume_context);
  return out;
}

std::string CsiUnpublishRequest(std::string_view volume_id, std::string_view target_path) {
  return TwoTexts(volume_id, target_path);
}

std::string Encode(const CsiExpandRequest& request) {
  std::string range, out;
  WireWriter range_writer(range);
  PutInt(range_writer, 1, request.bytes);
  WireWriter writer(out);
  PutText(writer, 1, request.volume_id);
  PutText(writer, 2, request.volume_path);
  writer.Bytes(3, range);
  PutText(writer, 4, request.staging_path);
  writer.Bytes(5, EncodeCapability(request.capability));
  PutEntries(writer, 6, request.secrets);
  return out;
}

}  // namespace flyball::node
