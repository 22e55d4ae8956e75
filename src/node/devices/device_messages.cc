#include "node/devices/device_messages.h"

#include "base/values/protobuf_fields.h"

namespace flyball::node {
namespace {

constexpr char kPluginsMessage[] = "the device plugin's message";

Status ReadOptions(std::string_view bytes, DevicePluginOptions& options) {
  return ReadFields(bytes, kPluginsMessage, [&](WireReader& field) {
    return TakeBool(field, 1, options.pre_start_required) || TakeBool(field, 2, options.preferred_allocation);
  });
}

std::string InContainerRequest(std::string_view message) {
  std::string out;
  WireWriter(out).Bytes(1, message);
  return out;
}

}  // namespace

Result<DeviceRegistration> DecodeDeviceRegistration(std::string_view bytes) {
  DeviceRegistration out;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kPluginsMessage, [&](WireReader& field) {
    return TakeText(field, 1, out.version) || TakeText(field, 2, out.endpoint) ||
           TakeText(field, 3, out.resource) ||
           TakeMessage(field, 4, status, [&](auto options) { return ReadOptions(options, out.options); });
  }));
  FLYBALL_TRY(status);
  return out;
}

Result<DevicePluginOptions> DecodeDevicePluginOptions(std::string_view bytes) {
  DevicePluginOptions options;
  FLYBALL_TRY(ReadOptions(bytes, options));
  return options;
}

Result<std::map<std::string, bool>> DecodeDeviceList(std::string_view bytes) {
  std::map<std::string, bool> devices;
  Status status;
  const auto read_device = [&](std::string_view device) -> Status {
    std::string id, health;
    FLYBALL_TRY(ReadFields(device, kPluginsMessage, [&](WireReader& field) {
      return TakeText(field, 1, id) || TakeText(field, 2, health);
    }));
    devices[id] = health == "Healthy";
    return {};
  };
  FLYBALL_TRY(ReadFields(bytes, kPluginsMessage,
                         [&](WireReader& field) { return TakeMessage(field, 1, status, read_device); }));
  FLYBALL_TRY(status);
  return devices;
}

std::string PreStartDevicesRequest(const std::vector<std::string>& devices) {
  std::string out;
  WireWriter writer(out);
  PutTexts(writer, 1, devices);
  return out;
}

std::string AllocateDevicesRequest(const std::vector<std::string>& devices) {
  return InContainerRequest(PreStartDevicesRequest(devices));
}

std::string PreferredDevicesRequest(const std::vector<std::string>& available,
                                    const std::vector<std::string>& included, std::int64_t size) {
  std::string out;
  WireWriter writer(out);
  PutTexts(writer, 1, available);
  PutTexts(writer, 2, included);
  PutInt(writer, 3, size);
  return InContainerRequest(out);
}

Result<std::vector<std::string>> DecodePreferredDevices(std::string_view bytes) {
  std::vector<std::string> devices;
  bool first = true;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kPluginsMessage, [&](WireReader& field) {
    return TakeMessage(field, 1, status, [&](std::string_view container) -> Status {
      if (!std::exchange(first, false)) return {};
      return ReadFields(container, kPluginsMessage,
                        [&](WireReader& inner) { return TakeTexts(inner, 1, devices); });
    });
  }));
  FLYBALL_TRY(status);
  return devices;
}

Result<DeviceAllocation> DecodeDeviceAllocation(std::string_view bytes) {
  DeviceAllocation out;
  Status status;
  const auto read_mount = [&](std::string_view message) {
    DeviceMount& mount = out.mounts.emplace_back();
    return ReadFields(message, kPluginsMessage, [&](WireReader& field) {
      return TakeText(field, 1, mount.container_path) || TakeText(field, 2, mount.host_path) ||
             TakeBool(field, 3, mount.read_only);
    });
  };
  const auto read_device = [&](std::string_view message) {
    DeviceNode& device = out.devices.emplace_back();
    return ReadFields(message, kPluginsMessage, [&](WireReader& field) {
      return TakeText(field, 1, device.container_path) || TakeText(field, 2, device.host_path) ||
             TakeText(field, 3, device.permissions);
    });
  };
  const auto read_cdi = [&](std::string_view message) {
    return ReadFields(message, kPluginsMessage,
                      [&](WireReader& field) { return TakeTexts(field, 1, out.cdi_devices); });
  };
  FLYBALL_TRY(ReadFields(bytes, kPluginsMessage, [&](WireReader& field) {
    return TakeEntry(field, 1, out.environment) || TakeMessage(field, 2, status, read_mount) ||
           TakeMessage(field, 3, status, read_device) || TakeEntry(field, 4, out.annotations) ||
           TakeMessage(field, 5, status, read_cdi);
  }));
  FLYBALL_TRY(status);
  return out;
}

Result<std::vector<std::string>> DecodeAllocateResponse(std::string_view bytes) {
  std::vector<std::string> containers;
  FLYBALL_TRY(
      ReadFields(bytes, kPluginsMessage, [&](WireReader& field) { return TakeTexts(field, 1, containers); }));
  return containers;
}

}  // namespace flyball::node
