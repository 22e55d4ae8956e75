#include "node/stats/usage.h"

#include <fts.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <memory>

namespace flyball::node {

ResourceUsage& ResourceUsage::operator+=(const ResourceUsage& other) {
  at = std::max(at, other.at);
  cpu_nanos += other.cpu_nanos;
  memory += other.memory;
  working_set += other.working_set;
  rss += other.rss;
  page_faults += other.page_faults;
  major_page_faults += other.major_page_faults;
  processes += other.processes;
  periods += other.periods;
  throttled_periods += other.throttled_periods;
  throttled_nanos += other.throttled_nanos;
  return *this;
}

std::uint64_t FolderBytes(const std::string& path) {
  constexpr std::uint64_t kBlock = 512;
  std::string start = path;
  char* const starts[] = {start.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> tree(
      fts_open(starts, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, nullptr), &fts_close);
  std::uint64_t bytes = 0;
  while (const FTSENT* entry = tree ? fts_read(tree.get()) : nullptr) {
    const bool counts = entry->fts_info != FTS_DP && entry->fts_info != FTS_NS &&
                        entry->fts_info != FTS_ERR && entry->fts_info != FTS_DNR && entry->fts_statp;
    // A file with several names counts once for each: a part of it that is not there is not missed.
    if (counts) bytes += static_cast<std::uint64_t>(entry->fts_statp->st_blocks) * kBlock;
  }
  return bytes;
}

std::optional<DiskUsage> ReadDiskUsage(const std::string& path, TimePoint now) {
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0) return std::nullopt;
  DiskUsage usage{.at = now};
  usage.capacity = disk.f_blocks * disk.f_frsize;
  usage.available = disk.f_bavail * disk.f_frsize;
  usage.used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize;
  usage.inodes = disk.f_files;
  usage.inodes_free = disk.f_ffree;
  usage.inodes_used = disk.f_files - disk.f_ffree;
  return usage;
}

}  // namespace flyball::node
