#include "node/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace flyball::node {
namespace {

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string OsImage() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      auto value = line.substr(12);
      std::erase(value, '"');
      return value;
    }
  return "Linux";
}

NodeCondition Condition(const char* type, const char* status, const char* reason, const char* message,
                        TimePoint now) {
  NodeCondition condition;
  condition.type = type;
  condition.status = status;
  condition.reason = reason;
  condition.message = message;
  condition.last_heartbeat_time = condition.last_transition_time = api::Time::From(now);
  return condition;
}

api::Quantity Number(long long n, const std::string& suffix = "") {
  return *api::Quantity::Parse(std::to_string(n) + suffix);
}

}  // namespace

NodeSystemInfo ReadSystemInfo(const std::string& runtime_version) {
  utsname system{};
  ::uname(&system);
  NodeSystemInfo info;
  info.machine_id = FirstLine("/etc/machine-id");
  info.boot_id = FirstLine("/proc/sys/kernel/random/boot_id");
  info.kernel_version = system.release;
  info.os_image = OsImage();
  info.container_runtime_version = runtime_version;
  info.kubelet_version = "v1.34.0+flyball";
  info.operating_system = "linux";
  info.architecture = std::string_view(system.machine) == "x86_64" ? "amd64" : "arm64";
  return info;
}

std::map<std::string, api::Quantity> ReadCapacity(int max_pods) {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  return {{"cpu", Number(std::thread::hardware_concurrency())},
          {"memory", Number(pages / 1024 * page, "Ki")},
          {"pods", Number(max_pods)}};
}

std::vector<NodeCondition> HealthyConditions(TimePoint now) {
  return {Condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                    "kubelet has sufficient memory available", now),
          Condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now),
          Condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available",
                    now),
          Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now)};
}

}  // namespace flyball::node
