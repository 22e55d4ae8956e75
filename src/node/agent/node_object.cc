#include "node/agent/node_object.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/kubernetes_version.h"

namespace flyball::node {
namespace {

std::string ReadLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string OsImage() {
  std::ifstream file("/etc/os-release");
  constexpr std::string_view kKey = "PRETTY_NAME=\"";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey)) return line.substr(kKey.size(), line.size() - kKey.size() - 1);
  return "Linux";
}

std::string Architecture(const utsname& machine) {
  const std::string_view name = machine.machine;
  if (name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  return std::string(name);
}

NodeCondition Condition(const char* type, const char* status, const char* reason, const char* message,
                        api::Time now) {
  return {.type = type,
          .status = status,
          .last_heartbeat_time = now,
          .last_transition_time = now,
          .reason = reason,
          .message = message};
}

api::Quantity Bytes(std::int64_t n) {
  return *api::Quantity::Parse(std::to_string(n / 1024) + "Ki");
}

// "hugepages-2Mi" for each size of pages that the kernel knows.
void AddHugepages(ResourceList& capacity) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::int64_t kKi = 1024, kMi = 1024 * kKi, kGi = 1024 * kMi;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::int64_t size = std::atoll(name.c_str() + kPrefix.size()) * kKi;
    std::ifstream file(entry.path() / "nr_hugepages");
    std::int64_t count = 0;
    if (size <= 0 || !(file >> count)) continue;
    const std::string shown = size % kGi == 0   ? std::to_string(size / kGi) + "Gi"
                              : size % kMi == 0 ? std::to_string(size / kMi) + "Mi"
                                                : std::to_string(size / kKi) + "Ki";
    capacity[std::string(kPrefix) + shown] =
        count == 0 ? api::Quantity(0) : *api::Quantity::Parse(std::to_string(count * size / kKi) + "Ki");
  }
}

}  // namespace

ResourceList MachineCapacity(const std::string& data_dir) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  struct statvfs disk {};
  const std::string where = data_dir.empty() ? "/" : data_dir;
  if (statvfs(where.c_str(), &disk) != 0) disk = {};
  const auto bytes = static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize);
  ResourceList capacity = {{"cpu", api::Quantity(cpus)},
                           {"memory", Bytes(memory)},
                           {"ephemeral-storage", Bytes(bytes)},
                           {"pods", api::Quantity(110)}};
  AddHugepages(capacity);
  return capacity;
}

ResourceList SimCapacity() {
  return {{"cpu", api::Quantity(256)},
          {"memory", *api::Quantity::Parse("1Ti")},
          {"ephemeral-storage", *api::Quantity::Parse("1Ti")},
          {"pods", api::Quantity(1000)}};
}

ResourceList AllocatableOf(const ResourceList& capacity, const ResourceList& reserved,
                           const EvictionThresholds& eviction) {
  ResourceList allocatable = capacity;
  const auto take = [&](const std::string& name, const api::Quantity& amount) {
    const auto found = allocatable.find(name);
    if (found == allocatable.end()) return;
    found->second = found->second - amount;
    if (found->second.Sign() < 0) found->second = api::Quantity(0);
  };
  for (const auto& [name, amount] : reserved) take(name, amount);
  for (const EvictionThreshold& threshold : eviction) {
    const std::string name = threshold.signal == "memory.available"   ? "memory"
                             : threshold.signal == "nodefs.available" ? "ephemeral-storage"
                                                                      : "";
    if (const auto found = capacity.find(name); found != capacity.end())
      take(name, ThresholdQuantity(threshold, found->second));
  }
  return allocatable;
}

EventTarget NodeTarget(const std::string& name) {
  return {.kind = KindRefOf<Node>(), .name = name, .uid = name};
}

Node MakeNode(const NodeDescription& description, TimePoint at) {
  utsname machine{};
  uname(&machine);
  const std::string arch = Architecture(machine);
  const api::Time now = api::Time::From(at);
  Node node{.metadata = {.name = description.name, .labels = description.labels}};
  for (const char* prefix : {"kubernetes.io/", "beta.kubernetes.io/"}) {
    node.metadata.labels[std::string(prefix) + "os"] = "linux";
    node.metadata.labels[std::string(prefix) + "arch"] = arch;
  }
  node.metadata.labels["kubernetes.io/hostname"] = description.name;
  NodeStatus& status = node.status;
  status.capacity = description.capacity;
  status.allocatable = description.allocatable;
  for (const std::string& address : description.addresses)
    status.addresses.push_back({.type = "InternalIP", .address = address});
  status.addresses.push_back({.type = "Hostname", .address = description.name});
  status.daemon_endpoints.kubelet_endpoint.port = description.port;
  // What NodeDeclaredFeatureValidator asks for: changes that PodWorker puts in force.
  status.declared_features = {"InPlacePodLevelResourcesVerticalScaling",
                              "InPlacePodVerticalScalingInitContainers"};
  status.node_info = {.machine_id = ReadLine("/etc/machine-id"),
                      .system_uuid = ReadLine("/etc/machine-id"),
                      .boot_id = ReadLine("/proc/sys/kernel/random/boot_id"),
                      .kernel_version = machine.release,
                      .os_image = OsImage(),
                      .container_runtime_version = description.runtime_version,
                      .kubelet_version = std::string(api::kKubernetesVersion),
                      .operating_system = "linux",
                      .architecture = arch};
  status.conditions = {
      Condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available", now),
      Condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now),
      Condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available",
                now),
      Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now)};
  return node;
}

}  // namespace flyball::node
