// The messages of the device plugin API v1beta1 (k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto), by
// field number. Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

inline constexpr char kDevicePluginVersion[] = "v1beta1";
inline constexpr char kRegisterDevicePluginMethod[] = "/v1beta1.Registration/Register";

struct DevicePluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation = false;  // GetPreferredAllocation can be called
};

// What a plugin says of itself to the node.
struct DeviceRegistration {
  std::string version, endpoint, resource;
  DevicePluginOptions options;
};
Result<DeviceRegistration> DecodeDeviceRegistration(std::string_view bytes);
Result<DevicePluginOptions> DecodeDevicePluginOptions(std::string_view bytes);

// Of ListAndWatch: the ids of all devices, and whether they are healthy.
Result<std::map<std::string, bool>> DecodeDeviceList(std::string_view bytes);

// For one container. The same bytes ask AllocateRequest and, without the container, PreStartContainerRequest.
std::string AllocateDevicesRequest(const std::vector<std::string>& devices);
std::string PreStartDevicesRequest(const std::vector<std::string>& devices);
std::string PreferredDevicesRequest(const std::vector<std::string>& available,
                                    const std::vector<std::string>& included, std::int64_t size);
// Of the first container; empty if the answer has none.
Result<std::vector<std::string>> DecodePreferredDevices(std::string_view bytes);

struct DeviceMount {
  std::string container_path, host_path;
  bool read_only = false;
};
struct DeviceNode {
  std::string container_path, host_path;
  std::string permissions;  // of "rwm"
};
// What a container needs to use its devices.
struct DeviceAllocation {
  std::map<std::string, std::string> environment, annotations;
  std::vector<DeviceMount> mounts;
  std::vector<DeviceNode> devices;
  std::vector<std::string> cdi_devices;
};
// One container's part of an AllocateResponse, and back.
Result<DeviceAllocation> DecodeDeviceAllocation(std::string_view bytes);
// The parts of all containers, encoded as they came.
Result<std::vector<std::string>> DecodeAllocateResponse(std::string_view bytes);

}  // namespace flyball::node
