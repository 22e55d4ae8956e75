// CgroupTree: the cgroups above those of containers, which runc makes: /kubepods, one of each QoS class and
// one of each pod (upstream: kubelet's container manager). Version 1, 2 or both side by side.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/types/core.h"
#include "base/values/result.h"

namespace flyball::node {

// What a cgroup may use. What is not said is left as it is.
struct CgroupLimits {
  std::optional<std::int64_t> cpu_shares;
  std::optional<std::int64_t> cpu_quota;            // microseconds of each 100 ms; -1: none
  std::optional<std::int64_t> memory;               // bytes; -1: none
  std::optional<std::int64_t> pids;                 // -1: none
  std::map<std::string, std::int64_t> hugepages{};  // bytes by page size: "2MB"

  bool operator==(const CgroupLimits&) const = default;
};

// Limits of the cgroup of a pod: its requests, and limits where every container has one (upstream:
// ResourceConfigForPod). `max_pids`: -1 for none.
CgroupLimits PodCgroupLimits(const Pod& pod, std::int64_t max_pids);
// Limits of all pods together: what the node has without what is reserved (upstream: enforceNodeAllocatable).
CgroupLimits AllocatableLimits(const std::map<std::string, api::Quantity>& amounts);

// "2MB" of "hugepages-2Mi", as cgroups name page sizes; empty if the resource is none.
std::string HugepageSize(const std::string& resource);
// Upstream: MilliCPUToShares.
std::int64_t CpuShares(std::int64_t milli);

// Thread-compatible.
class CgroupTree {
 public:
  explicit CgroupTree(std::string root = "/sys/fs/cgroup") : root_(std::move(root)) {}

  // Makes the cgroup, and those above it, in every hierarchy, and sets its limits. A controller that the
  // machine does not have limits nothing.
  Status Make(const std::string& path, const CgroupLimits& limits) const;
  // Removes it where it is empty.
  void Remove(const std::string& path) const;
  // Removes it with all that is below it. Every process in it has been killed: blocks until the system lets
  // go of the last one, but for two seconds at most.
  void RemoveTree(const std::string& path) const;
  // Gives the class of burstable pods below `pods` the share of the processor that they have together, and
  // best-effort ones what is left (upstream: QOSContainerManager). After pods have come, gone or changed.
  void BalanceClasses(const std::string& pods) const;

 private:
  bool unified() const;
  Status MakeUnified(const std::string& path, const CgroupLimits& limits) const;
  Status MakeSplit(const std::string& path, const CgroupLimits& limits) const;
  std::int64_t SharesOf(const std::string& path) const;

  const std::string root_;
};

}  // namespace flyball::node
