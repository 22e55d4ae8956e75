// What containers, pods and a node use, as kubelet's stats have it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/run/clock.h"

namespace flyball::node {

// Of one cgroup, of the processes of one container, or of the machine.
struct ResourceUsage {
  TimePoint at{};
  std::uint64_t cpu_nanos = 0;    // since it began
  std::uint64_t memory = 0;       // with the page cache
  std::uint64_t working_set = 0;  // without those pages that can be dropped at once
  std::uint64_t rss = 0;
  std::uint64_t page_faults = 0, major_page_faults = 0;
  std::uint64_t processes = 0;
  // Of the CFS quota: periods, and those in which it was used up. Zero where there is none.
  std::uint64_t periods = 0, throttled_periods = 0, throttled_nanos = 0;

  // At `at`, the younger of the two.
  ResourceUsage& operator+=(const ResourceUsage& other);
};

// Of a file system.
struct DiskUsage {
  TimePoint at{};
  std::uint64_t capacity = 0, available = 0, used = 0;
  std::uint64_t inodes = 0, inodes_free = 0, inodes_used = 0;
};
// What the files of a folder take up on its file system, with those of all folders below.
std::uint64_t FolderBytes(const std::string& path);
// Nothing if the path is not there.
std::optional<DiskUsage> ReadDiskUsage(const std::string& path, TimePoint now);

struct ContainerStats {
  std::string name, id, image;
  TimePoint started_at{};
  ResourceUsage usage;
  std::int64_t cpu_limit_milli = 0, cpu_request_milli = 0, memory_limit = 0;  // 0: none
  std::optional<std::uint64_t> writable_bytes{}, log_bytes{};                 // nothing: not counted
};

struct PodStats {
  std::string name, ns, uid, cgroup;  // the cgroup may be empty
  TimePoint started_at{};
  std::optional<ResourceUsage> usage;
  std::vector<ContainerStats> containers;
  std::map<std::string, std::uint64_t> volume_bytes{};  // of its emptyDirs on the disk, as far as counted
};

struct NodeStats {
  std::string name;
  TimePoint started_at{};
  std::optional<ResourceUsage> usage;  // nothing if it could not be read
  std::int64_t cpus = 0;
  std::uint64_t memory_capacity = 0, memory_available = 0;
  std::optional<DiskUsage> disk, images;
  std::uint64_t processes = 0, max_processes = 0;
  std::vector<PodStats> pods;
};

}  // namespace flyball::node
