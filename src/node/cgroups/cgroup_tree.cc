#include "node/cgroups/cgroup_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "api/usage/resource_amounts.h"
#include "base/run/clock.h"
#include "base/run/thread.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kQuotaPeriod = 100'000, kLeastQuota = 1000;
constexpr std::int64_t kMinShares = 2, kMaxShares = 262'144;
constexpr char kHugepages[] = "hugepages-";
constexpr Duration kProcessesEnd = std::chrono::seconds(2), kLookAgain = std::chrono::milliseconds(5);

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// A file that is not there belongs to a controller that the machine does not have.
Status WriteValue(const std::string& path, const std::string& value) {
  if (!Exists(path)) return {};
  std::ofstream file(path);
  file << value << std::flush;
  if (!file)
    return Unexpected(InternalError("cannot write \"" + value + "\" to " + path + ": " + strerror(errno)));
  return {};
}

std::string Limit(std::int64_t value, const char* none) {
  return value < 0 ? none : std::to_string(value);
}

// Of version 2: a weight of 1 to 10000 for 2 to 262144 shares (upstream: CPUSharesToCPUWeight).
std::int64_t Weight(std::int64_t shares) {
  return 1 + (shares - kMinShares) * 9999 / (kMaxShares - kMinShares);
}

std::int64_t SharesOfWeight(std::int64_t weight) {
  return kMinShares + (weight - 1) * (kMaxShares - kMinShares) / 9999;
}

// "/a", "/a/b", "/a/b/c" of "/a/b/c".
std::vector<std::string> PathsTo(const std::string& path) {
  std::vector<std::string> paths;
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    paths.push_back(path.substr(0, at));
  paths.push_back(path);
  return paths;
}

// False if a process keeps one of them.
bool RemoveFolders(const std::string& path) {
  std::error_code error;
  bool all = true;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.is_directory(error)) all = RemoveFolders(entry.path().string()) && all;
  return all && (rmdir(path.c_str()) == 0 || errno == ENOENT);
}

Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0) {
    chmod(path.c_str(), 0755);  // past the umask
    return {};
  }
  if (errno == EEXIST) return {};
  return Unexpected(InternalError("cannot make the cgroup " + path + ": " + strerror(errno)));
}

// All that a controller of version 2 offers goes down the tree.
Status Delegate(const std::string& folder) {
  std::ifstream file(folder + "/cgroup.controllers");
  for (std::string controller; file >> controller;)
    FLYBALL_TRY(WriteValue(folder + "/cgroup.subtree_control", "+" + controller));
  return {};
}

// Every container that will run has said how much of it is enough.
bool AllHaveLimit(const Pod& pod, const char* resource) {
  const auto has = [&](const Container& container) {
    const auto found = container.resources.limits.find(resource);
    return found != container.resources.limits.end() && !found->second.IsZero();
  };
  return std::all_of(pod.spec.containers.begin(), pod.spec.containers.end(), has) &&
         std::all_of(pod.spec.init_containers.begin(), pod.spec.init_containers.end(), has);
}

bool PodHasLimit(const Pod& pod, const char* resource) {
  return pod.spec.resources && pod.spec.resources->limits.contains(resource);
}

}  // namespace

std::string HugepageSize(const std::string& resource) {
  if (!resource.starts_with(kHugepages)) return {};
  std::string size = resource.substr(std::strlen(kHugepages));
  if (size.ends_with('i')) size.pop_back();
  return size + "B";
}

std::int64_t CpuShares(std::int64_t milli) {
  return std::clamp(milli * 1024 / 1000, kMinShares, kMaxShares);
}

CgroupLimits PodCgroupLimits(const Pod& pod, std::int64_t max_pids) {
  const json::Value spec = ToJson(pod.spec);
  const auto requests = api::PodResources(spec, "requests", api::PodOverhead::kIncluded);
  const auto limits = api::PodResources(spec, "limits", api::PodOverhead::kIncluded);
  const auto amount = [](const api::ResourceAmounts& of, const char* name) {
    const auto found = of.find(name);
    return found == of.end() ? api::Quantity() : found->second;
  };
  CgroupLimits made{.cpu_shares = CpuShares(amount(requests, "cpu").MilliValue()),
                    .cpu_quota = -1,
                    .memory = -1,
                    .pids = max_pids};
  if (AllHaveLimit(pod, "cpu") || PodHasLimit(pod, "cpu"))
    made.cpu_quota = std::max(amount(limits, "cpu").MilliValue() * kQuotaPeriod / 1000, kLeastQuota);
  if (AllHaveLimit(pod, "memory") || PodHasLimit(pod, "memory"))
    made.memory = amount(limits, "memory").Value();
  for (const auto& [name, quantity] : limits)
    if (const std::string size = HugepageSize(name); !size.empty()) made.hugepages[size] = quantity.Value();
  return made;
}

CgroupLimits AllocatableLimits(const std::map<std::string, api::Quantity>& amounts) {
  CgroupLimits limits;
  for (const auto& [name, quantity] : amounts) {
    if (name == "cpu") limits.cpu_shares = CpuShares(quantity.MilliValue());
    if (name == "memory") limits.memory = quantity.Value();
    if (name == "pid") limits.pids = quantity.Value();
    if (const std::string size = HugepageSize(name); !size.empty()) limits.hugepages[size] = quantity.Value();
  }
  return limits;
}

// Beside version 1, version 2 is mounted without controllers.
bool CgroupTree::unified() const {
  std::ifstream file(root_ + "/cgroup.controllers");
  std::string controller;
  return static_cast<bool>(file >> controller);
}

Status CgroupTree::Make(const std::string& path, const CgroupLimits& limits) const {
  return unified() ? MakeUnified(path, limits) : MakeSplit(path, limits);
}

Status CgroupTree::MakeUnified(const std::string& path, const CgroupLimits& limits) const {
  std::string above = root_;
  for (const std::string& part : PathsTo(path)) {
    FLYBALL_TRY(Delegate(above));
    above = root_ + part;
    FLYBALL_TRY(MakeFolder(above));
  }
  FLYBALL_TRY(Delegate(above));
  if (limits.cpu_shares)
    FLYBALL_TRY(WriteValue(above + "/cpu.weight", std::to_string(Weight(*limits.cpu_shares))));
  if (limits.cpu_quota)
    FLYBALL_TRY(
        WriteValue(above + "/cpu.max", Limit(*limits.cpu_quota, "max") + " " + std::to_string(kQuotaPeriod)));
  if (limits.memory) FLYBALL_TRY(WriteValue(above + "/memory.max", Limit(*limits.memory, "max")));
  if (limits.pids) FLYBALL_TRY(WriteValue(above + "/pids.max", Limit(*limits.pids, "max")));
  for (const auto& [size, bytes] : limits.hugepages)
    FLYBALL_TRY(WriteValue(above + "/hugetlb." + size + ".max", std::to_string(bytes)));
  return {};
}

Status CgroupTree::MakeSplit(const std::string& path, const CgroupLimits& limits) const {
  for (const char* controller : {"cpu", "cpuacct", "memory", "pids", "hugetlb"})
    if (const std::string hierarchy = root_ + "/" + controller; Exists(hierarchy))
      for (const std::string& part : PathsTo(path)) FLYBALL_TRY(MakeFolder(hierarchy + part));
  const std::string cpu = root_ + "/cpu" + path, memory = root_ + "/memory" + path;
  if (limits.cpu_shares) FLYBALL_TRY(WriteValue(cpu + "/cpu.shares", std::to_string(*limits.cpu_shares)));
  if (limits.cpu_quota) {
    FLYBALL_TRY(WriteValue(cpu + "/cpu.cfs_period_us", std::to_string(kQuotaPeriod)));
    FLYBALL_TRY(WriteValue(cpu + "/cpu.cfs_quota_us", std::to_string(*limits.cpu_quota)));
  }
  if (limits.memory)
    FLYBALL_TRY(WriteValue(memory + "/memory.limit_in_bytes", std::to_string(*limits.memory)));
  if (limits.pids) FLYBALL_TRY(WriteValue(root_ + "/pids" + path + "/pids.max", Limit(*limits.pids, "max")));
  for (const auto& [size, bytes] : limits.hugepages)
    FLYBALL_TRY(WriteValue(root_ + "/hugetlb" + path + "/hugetlb." + size + ".limit_in_bytes",
                           std::to_string(bytes)));
  return {};
}

std::int64_t CgroupTree::SharesOf(const std::string& path) const {
  std::int64_t value = 0;
  if (std::ifstream(root_ + path + "/cpu.weight") >> value) return SharesOfWeight(value);
  if (std::ifstream(root_ + "/cpu" + path + "/cpu.shares") >> value) return value;
  return 0;
}

void CgroupTree::BalanceClasses(const std::string& pods) const {
  const std::string burstable = pods + "/burstable", folder = unified() ? root_ : root_ + "/cpu";
  std::int64_t sum = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + burstable, error))
    if (entry.is_directory(error)) sum += SharesOf(burstable + "/" + entry.path().filename().string());
  (void)Make(burstable, {.cpu_shares = std::clamp(sum, kMinShares, kMaxShares)});
  (void)Make(pods + "/besteffort", {.cpu_shares = kMinShares});
}

void CgroupTree::Remove(const std::string& path) const {
  rmdir((root_ + path).c_str());
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_, error))
    if (entry.is_directory(error)) rmdir((entry.path().string() + path).c_str());
}

void CgroupTree::RemoveTree(const std::string& path) const {
  std::vector<std::string> folders{root_ + path};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_, error))
    if (entry.is_directory(error)) folders.push_back(entry.path().string() + path);
  for (Duration waited{}; waited < kProcessesEnd; waited += kLookAgain) {
    std::erase_if(folders, &RemoveFolders);
    if (folders.empty()) return;
    SleepFor(kLookAgain);
  }
}

}  // namespace flyball::node
