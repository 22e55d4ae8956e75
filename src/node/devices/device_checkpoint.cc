#include "node/devices/device_checkpoint.h"

#include <unistd.h>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

// Devices without a NUMA node of their own are listed under this one.
constexpr char kNoNumaNode[] = "-1";

json::Value EntryOfHeld(const HeldDevices& held) {
  json::Array ids;
  for (const std::string& id : held.devices) ids.emplace_back(id);
  return json::Object{{"PodUID", held.pod_uid},
                      {"ContainerName", held.container},
                      {"ResourceName", held.resource},
                      {"DeviceIDs", json::Object{{kNoNumaNode, std::move(ids)}}},
                      {"AllocResp", net::Base64Encode(held.allocation)}};
}

Result<HeldDevices> HeldOfEntry(const json::Value& entry) {
  HeldDevices held{.pod_uid = std::string(entry["PodUID"].string_or("")),
                   .container = std::string(entry["ContainerName"].string_or("")),
                   .resource = std::string(entry["ResourceName"].string_or("")),
                   .devices = {},
                   .allocation = {}};
  if (const json::Value* nodes = entry.Find("DeviceIDs"); nodes && nodes->is_object())
    for (const auto& [node, ids] : nodes->as_object())
      if (ids.is_array())
        for (const json::Value& id : ids.as_array()) held.devices.emplace_back(id.string_or(""));
  FLYBALL_ASSIGN(held.allocation, net::Base64Decode(std::string(entry["AllocResp"].string_or(""))));
  return held;
}

}  // namespace

Result<DeviceCheckpoint> ReadDeviceCheckpoint(const std::string& path) {
  DeviceCheckpoint checkpoint;
  if (access(path.c_str(), F_OK) != 0) return checkpoint;
  FLYBALL_ASSIGN(const std::string text, ReadFile(path));
  FLYBALL_ASSIGN(const json::Value document, json::Parse(text));
  const json::Value& data = document["Data"];
  if (const json::Value* entries = data.Find("PodDeviceEntries"); entries && entries->is_array())
    for (const json::Value& entry : entries->as_array()) {
      FLYBALL_ASSIGN(auto held, HeldOfEntry(entry));
      checkpoint.held.push_back(std::move(held));
    }
  if (const json::Value* resources = data.Find("RegisteredDevices"); resources && resources->is_object())
    for (const auto& [resource, ids] : resources->as_object()) checkpoint.resources.emplace_back(resource);
  return checkpoint;
}

Status WriteDeviceCheckpoint(const std::string& path, const DeviceCheckpoint& checkpoint) {
  json::Array entries;
  for (const HeldDevices& held : checkpoint.held) entries.push_back(EntryOfHeld(held));
  json::Object resources;
  for (const std::string& resource : checkpoint.resources) resources.Set(resource, json::Array());
  const json::Value document = json::Object{
      {"Data",
       json::Object{{"PodDeviceEntries", std::move(entries)}, {"RegisteredDevices", std::move(resources)}}},
      {"Checksum", 0}};
  return WriteFileDurably(path, json::Write(document));
}

}  // namespace flyball::node
