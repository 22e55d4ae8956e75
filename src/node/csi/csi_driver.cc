#include "node/csi/csi_driver.h"

#include <algorithm>
#include <array>

namespace flyball::node {
namespace {

constexpr Duration kCsiTimeout = std::chrono::minutes(2);

}  // namespace

Result<std::shared_ptr<CsiDriver>> CsiDriver::Make(const std::string& endpoint) {
  FLYBALL_ASSIGN(auto channel, net::GrpcChannel::Make("unix://" + endpoint));
  return std::make_shared<CsiDriver>(std::move(channel));
}

Result<std::string> CsiDriver::Call(const std::string& method, std::string_view message) const {
  return channel_->Call("/csi.v1.Node/" + method, message, {.timeout = kCsiTimeout});
}

Result<CsiNodeInfo> CsiDriver::NodeInfo() const {
  FLYBALL_ASSIGN(const std::string answer, Call("NodeGetInfo", ""));
  return DecodeCsiNodeInfo(answer);
}

Result<CsiAbilities> CsiDriver::Abilities() const {
  FLYBALL_ASSIGN(const std::string answer, Call("NodeGetCapabilities", ""));
  FLYBALL_ASSIGN(const auto types, DecodeCsiNodeCapabilities(answer));
  const auto has = [&](CsiNodeCapability capability) {
    return std::find(types.begin(), types.end(), static_cast<std::int64_t>(capability)) != types.end();
  };
  return CsiAbilities{.stage = has(CsiNodeCapability::kStageUnstage),
                      .stats = has(CsiNodeCapability::kVolumeStats),
                      .expand = has(CsiNodeCapability::kExpand),
                      .single_node_multi_writer = has(CsiNodeCapability::kSingleNodeMultiWriter),
                      .mount_group = has(CsiNodeCapability::kVolumeMountGroup)};
}

Status CsiDriver::Stage(const CsiStageRequest& request) const {
  FLYBALL_TRY(Call("NodeStageVolume", Encode(request)));
  return {};
}

Status CsiDriver::Unstage(const std::string& volume_id, const std::string& staging_path) const {
  FLYBALL_TRY(Call("NodeUnstageVolume", CsiUnstageRequest(volume_id, staging_path)));
  return {};
}

Status CsiDriver::Publish(const CsiPublishRequest& request) const {
  FLYBALL_TRY(Call("NodePublishVolume", Encode(request)));
  return {};
}

Status CsiDriver::Unpublish(const std::string& volume_id, const std::string& target_path) const {
  FLYBALL_TRY(Call("NodeUnpublishVolume", CsiUnpublishRequest(volume_id, target_path)));
  return {};
}

Status CsiDriver::Expand(const CsiExpandRequest& request) const {
  FLYBALL_TRY(Call("NodeExpandVolume", Encode(request)));
  return {};
}

bool IsFinalCsiError(const Error& error) {
  constexpr std::array kUnfinished = {"Canceled", "DeadlineExceeded", "Unavailable", "ResourceExhausted",
                                      "Aborted"};
  constexpr std::string_view kPrefix = "rpc error: code = ";
  const std::string& message = error.message();
  if (!message.starts_with(kPrefix)) return false;
  return std::none_of(kUnfinished.begin(), kUnfinished.end(), [&](std::string_view code) {
    return std::string_view(message).substr(kPrefix.size()).starts_with(code);
  });
}

}  // namespace flyball::node
