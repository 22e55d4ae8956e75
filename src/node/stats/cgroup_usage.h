// What a cgroup uses, whatever version the machine has: 2, 1, or both side by side.
#pragma once

#include <optional>
#include <string>

#include "node/stats/usage.h"

namespace flyball::node {

// `path` is that in every hierarchy: "/kubepods/pod1/c". `root`: where they are mounted. Nothing if there is
// no such cgroup.
std::optional<ResourceUsage> ReadCgroupUsage(const std::string& path, TimePoint now,
                                             const std::string& root = "/sys/fs/cgroup");

}  // namespace flyball::node
