// The file in which a node keeps which containers have which devices, in kubelet's form.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

// The devices of one resource that a container has.
struct HeldDevices {
  std::string pod_uid, container, resource;
  std::vector<std::string> devices;
  std::string allocation;  // what the plugin answered, encoded (DecodeDeviceAllocation)

  bool operator==(const HeldDevices&) const = default;
};

struct DeviceCheckpoint {
  std::vector<HeldDevices> held;
  std::vector<std::string> resources;  // that were registered
};

// Nothing is held if there is no file. InternalError if it cannot be understood.
Result<DeviceCheckpoint> ReadDeviceCheckpoint(const std::string& path);
Status WriteDeviceCheckpoint(const std::string& path, const DeviceCheckpoint& checkpoint);

}  // namespace flyball::node
