// The messages of pluginregistration.v1 (k8s.io/kubelet/pkg/apis/pluginregistration/v1/api.proto), by field
// number. Functions only; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

inline constexpr char kGetPluginInfoMethod[] = "/pluginregistration.Registration/GetInfo";
inline constexpr char kNotifyRegistrationMethod[] =
    "/pluginregistration.Registration/NotifyRegistrationStatus";

inline constexpr char kCsiPluginType[] = "CSIPlugin";
inline constexpr char kDevicePluginType[] = "DevicePlugin";

struct PluginInfo {
  std::string type, name;
  std::string endpoint;  // the socket of its service
  std::vector<std::string> versions;
};
// InternalError if the bytes are no such message.
Result<PluginInfo> DecodePluginInfo(std::string_view bytes);

// An empty error: it is registered.
std::string RegistrationStatusMessage(std::string_view error);

}  // namespace flyball::node
