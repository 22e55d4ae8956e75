#include "node/stats/machine_usage.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace flyball::node {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

std::map<std::string, std::uint64_t> MemoryInfo(const std::string& proc) {
  std::map<std::string, std::uint64_t> values;
  std::ifstream file(proc + "/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name >> value) values[name.substr(0, name.size() - 1)] = value * kKilobyte;
  }
  return values;
}

// Of all processors together; without the time they had nothing to do, or waited.
std::uint64_t CpuNanos(const std::string& proc) {
  static const auto kTicks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  std::ifstream file(proc + "/stat");
  std::string word;
  file >> word;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0, stolen = 0;
  file >> user >> nice >> system >> idle >> waiting >> irq >> soft >> stolen;
  return (user + nice + system + irq + soft) * (1'000'000'000 / kTicks);
}

TimePoint BootTime(const std::string& proc) {
  std::ifstream file(proc + "/stat");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("btime ")) return TimePoint(std::chrono::seconds(std::stoll(line.substr(6))));
  return {};
}

std::uint64_t OneNumber(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  file >> value;
  return value;
}

// The fourth field of /proc/loadavg is "<that run>/<all>", threads included, as the kernel's limit counts
// them.
std::uint64_t ThreadCount(const std::string& proc) {
  std::ifstream file(proc + "/loadavg");
  std::string a, b, c, threads;
  file >> a >> b >> c >> threads;
  const std::size_t slash = threads.find('/');
  return slash == std::string::npos ? 0 : std::stoull("0" + threads.substr(slash + 1));
}

}  // namespace

void ReadMachineUsage(NodeStats& stats, TimePoint now, const std::string& proc) {
  auto memory = MemoryInfo(proc);
  stats.started_at = BootTime(proc);
  stats.cpus = sysconf(_SC_NPROCESSORS_ONLN);
  stats.processes = ThreadCount(proc);
  stats.max_processes =
      std::min(OneNumber(proc + "/sys/kernel/pid_max"), OneNumber(proc + "/sys/kernel/threads-max"));
  if (memory.empty()) return;
  ResourceUsage usage{.at = now, .cpu_nanos = CpuNanos(proc)};
  // As cAdvisor counts the root cgroup.
  usage.memory = memory["MemTotal"] - memory["MemFree"];
  const std::uint64_t inactive = memory["Inactive(file)"];
  usage.working_set = usage.memory > inactive ? usage.memory - inactive : 0;
  usage.rss = memory["AnonPages"];
  usage.processes = stats.processes;
  stats.memory_capacity = memory["MemTotal"];
  stats.memory_available = memory["MemTotal"] - usage.working_set;
  stats.usage = usage;
}

}  // namespace flyball::node
