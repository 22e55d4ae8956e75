// DevicePlugin: one device plugin of this machine: calls to its DevicePlugin service.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/grpc/grpc_channel.h"
#include "node/devices/device_messages.h"

namespace flyball::node {

// Thread-safe. Methods block, but for Watch.
class DevicePlugin {
 public:
  // `socket`: its path. Nothing is connected yet.
  static Result<std::shared_ptr<DevicePlugin>> Make(const std::string& socket);
  explicit DevicePlugin(std::unique_ptr<net::GrpcChannel> channel) : channel_(std::move(channel)) {}

  Result<DevicePluginOptions> Options() const;
  // Begins ListAndWatch, once. `devices` gets each list (healthy by id), `ended` comes last; both on an I/O
  // thread, so that they must not block. Nothing comes any more once this plugin is gone.
  void Watch(std::function<void(std::map<std::string, bool>)> devices, std::function<void()> ended);
  // The answer for the one container, encoded (DecodeDeviceAllocation).
  Result<std::string> Allocate(const std::vector<std::string>& devices) const;
  Result<std::vector<std::string>> Preferred(const std::vector<std::string>& available,
                                             const std::vector<std::string>& included,
                                             std::int64_t size) const;
  Status PreStart(const std::vector<std::string>& devices) const;

 private:
  Result<std::string> Call(const std::string& method, std::string_view message, Duration timeout,
                           bool wait = false) const;

  const std::unique_ptr<net::GrpcChannel> channel_;
  std::unique_ptr<net::GrpcStream> stream_;
};

}  // namespace flyball::node
