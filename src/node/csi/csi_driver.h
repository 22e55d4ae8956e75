// CsiDriver: one CSI driver of this machine: calls to its Node service.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "net/grpc/grpc_channel.h"
#include "node/csi/csi_messages.h"

namespace flyball::node {

// What a driver can do. Values.
struct CsiAbilities {
  bool stage = false;  // volumes are staged before they are published
  bool stats = false;
  bool expand = false;
  bool single_node_multi_writer = false;  // one writer on a node is told from several
  bool mount_group = false;               // fsGroup is the driver's business
};

// Thread-safe. Methods block, for at most two minutes (upstream: csiTimeout). Errors are the driver's, as
// grpc-go has them.
class CsiDriver {
 public:
  // `endpoint`: the path of its socket. Nothing is connected yet.
  static Result<std::shared_ptr<CsiDriver>> Make(const std::string& endpoint);
  explicit CsiDriver(std::unique_ptr<net::GrpcChannel> channel) : channel_(std::move(channel)) {}

  Result<CsiNodeInfo> NodeInfo() const;
  Result<CsiAbilities> Abilities() const;
  Status Stage(const CsiStageRequest& request) const;
  Status Unstage(const std::string& volume_id, const std::string& staging_path) const;
  Status Publish(const CsiPublishRequest& request) const;
  Status Unpublish(const std::string& volume_id, const std::string& target_path) const;
  Status Expand(const CsiExpandRequest& request) const;

 private:
  Result<std::string> Call(const std::string& method, std::string_view message) const;

  const std::unique_ptr<net::GrpcChannel> channel_;
};

// Whether the call is over for certain after this error of it: nothing goes on in the driver any more
// (upstream: isFinalError).
bool IsFinalCsiError(const Error& error);

}  // namespace flyball::node
