#include "node/stats/cgroup_usage.h"

#include <fstream>
#include <map>

namespace flyball::node {
namespace {

using Numbers = std::map<std::string, std::uint64_t>;

// A file of lines "name number".
Numbers ReadNumbers(const std::string& path) {
  Numbers numbers;
  std::ifstream file(path);
  std::string name;
  std::uint64_t number = 0;
  while (file >> name >> number) numbers[name] = number;
  return numbers;
}

std::optional<std::uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

void SetMemory(ResourceUsage& usage, std::uint64_t memory, const Numbers& stat, const std::string& prefix,
               const char* rss) {
  const auto number = [&](const std::string& name) {
    const auto found = stat.find(prefix + name);
    return found == stat.end() ? 0 : found->second;
  };
  usage.memory = memory;
  const std::uint64_t inactive = number("inactive_file");
  usage.working_set = memory > inactive ? memory - inactive : 0;
  usage.rss = number(rss);
  usage.page_faults = number("pgfault");
  usage.major_page_faults = number("pgmajfault");
}

std::optional<ResourceUsage> ReadVersion2(const std::string& folder) {
  Numbers cpu = ReadNumbers(folder + "/cpu.stat");
  const auto memory = ReadNumber(folder + "/memory.current");
  if (!cpu.contains("usage_usec") || !memory) return std::nullopt;
  ResourceUsage usage;
  usage.cpu_nanos = cpu["usage_usec"] * 1000;
  usage.periods = cpu["nr_periods"];
  usage.throttled_periods = cpu["nr_throttled"];
  usage.throttled_nanos = cpu["throttled_usec"] * 1000;
  SetMemory(usage, *memory, ReadNumbers(folder + "/memory.stat"), "", "anon");
  usage.processes = ReadNumber(folder + "/pids.current").value_or(0);
  return usage;
}

std::optional<ResourceUsage> ReadVersion1(const std::string& path, const std::string& root) {
  const auto nanos = ReadNumber(root + "/cpuacct" + path + "/cpuacct.usage");
  const auto memory = ReadNumber(root + "/memory" + path + "/memory.usage_in_bytes");
  if (!nanos || !memory) return std::nullopt;
  ResourceUsage usage;
  usage.cpu_nanos = *nanos;
  Numbers cpu = ReadNumbers(root + "/cpu" + path + "/cpu.stat");
  usage.periods = cpu["nr_periods"];
  usage.throttled_periods = cpu["nr_throttled"];
  usage.throttled_nanos = cpu["throttled_time"];
  // With those of the groups below.
  SetMemory(usage, *memory, ReadNumbers(root + "/memory" + path + "/memory.stat"), "total_", "rss");
  usage.processes = ReadNumber(root + "/pids" + path + "/pids.current").value_or(0);
  return usage;
}

}  // namespace

std::optional<ResourceUsage> ReadCgroupUsage(const std::string& path, TimePoint now,
                                             const std::string& root) {
  auto usage = ReadVersion2(root + path);
  if (!usage) usage = ReadVersion1(path, root);
  if (usage) usage->at = now;
  return usage;
}

}  // namespace flyball::node
