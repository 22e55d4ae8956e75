#include "node/devices/device_plugin.h"

#include "base/observe/log.h"

namespace flyball::node {
namespace {

constexpr Duration kDialTimeout = std::chrono::seconds(10);
// Upstream sets no limit for allocation; a plugin that hangs must not hold the node's pods for ever.
constexpr Duration kAllocateTimeout = std::chrono::minutes(2);
constexpr Duration kPreStartTimeout =
    std::chrono::seconds(30);  // upstream: KubeletPreStartContainerRPCTimeoutInSecs

class DeviceListSink final : public net::GrpcStreamSink {
 public:
  DeviceListSink(std::function<void(std::map<std::string, bool>)> devices, std::function<void()> ended)
      : devices_(std::move(devices)), ended_(std::move(ended)) {}

  void OnMessage(std::string_view message) override {
    auto list = DecodeDeviceList(message);
    if (list) return devices_(std::move(*list));
    log::Warning("list of devices ignored", {{"error", list.error().message()}});
  }
  void OnEnd(const Status&) override { ended_(); }

 private:
  const std::function<void(std::map<std::string, bool>)> devices_;
  const std::function<void()> ended_;
};

}  // namespace

Result<std::shared_ptr<DevicePlugin>> DevicePlugin::Make(const std::string& socket) {
  FLYBALL_ASSIGN(auto channel, net::GrpcChannel::Make("unix://" + socket));
  return std::make_shared<DevicePlugin>(std::move(channel));
}

Result<std::string> DevicePlugin::Call(const std::string& method, std::string_view message, Duration timeout,
                                       bool wait) const {
  return channel_->Call("/v1beta1.DevicePlugin/" + method, message,
                        {.timeout = timeout, .wait_for_ready = wait});
}

Result<DevicePluginOptions> DevicePlugin::Options() const {
  FLYBALL_ASSIGN(const std::string answer, Call("GetDevicePluginOptions", "", kDialTimeout, true));
  return DecodeDevicePluginOptions(answer);
}

void DevicePlugin::Watch(std::function<void(std::map<std::string, bool>)> devices,
                         std::function<void()> ended) {
  stream_ = channel_->Open("/v1beta1.DevicePlugin/ListAndWatch",
                           std::make_shared<DeviceListSink>(std::move(devices), std::move(ended)));
  stream_->Send("");
  stream_->Finish();
}

Result<std::string> DevicePlugin::Allocate(const std::vector<std::string>& devices) const {
  FLYBALL_ASSIGN(const std::string answer,
                 Call("Allocate", AllocateDevicesRequest(devices), kAllocateTimeout));
  FLYBALL_ASSIGN(auto containers, DecodeAllocateResponse(answer));
  if (containers.empty()) return Unexpected(InternalError("no containers return in allocation response"));
  return std::move(containers.front());
}

Result<std::vector<std::string>> DevicePlugin::Preferred(const std::vector<std::string>& available,
                                                         const std::vector<std::string>& included,
                                                         std::int64_t size) const {
  FLYBALL_ASSIGN(
      const std::string answer,
      Call("GetPreferredAllocation", PreferredDevicesRequest(available, included, size), kAllocateTimeout));
  return DecodePreferredDevices(answer);
}

Status DevicePlugin::PreStart(const std::vector<std::string>& devices) const {
  FLYBALL_TRY(Call("PreStartContainer", PreStartDevicesRequest(devices), kPreStartTimeout));
  return {};
}

}  // namespace flyball::node
