// ArchiveReader: the entries of a tar archive, plain or compressed (gzip, zstd, xz, bzip2), one after the
// other, on libarchive. Input is hostile: every length is bounded, nothing is written here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

struct ArchiveEntry {
  enum class Type { kFile, kFolder, kSymlink, kHardLink, kCharDevice, kBlockDevice, kFifo, kOther };
  Type type = Type::kOther;
  std::string path;  // as the archive has it
  std::string link;  // target of a symbolic or hard link
  mode_t mode = 0;   // permission bits
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t size = 0;  // of a file
  std::int64_t mtime_seconds = 0;
  long mtime_nanos = 0;
  dev_t device = 0;  // of a device node
  std::vector<std::pair<std::string, std::string>> xattrs;
};

// Thread-compatible. Blocks.
class ArchiveReader {
 public:
  // NotFound if there is no such file; BadRequest if it is no archive.
  // `max_bytes`: the most it may have without its compression; reading further is BadRequest.
  static Result<std::unique_ptr<ArchiveReader>> Open(const std::string& path, std::int64_t max_bytes);
  // Of bytes in memory, which must outlive it.
  static Result<std::unique_ptr<ArchiveReader>> OfBytes(std::string_view bytes, std::int64_t max_bytes);
  ~ArchiveReader();

  // The next entry; nothing at the end. BadRequest if the archive is damaged.
  Result<std::optional<ArchiveEntry>> Next();
  // Some more of the current entry's content; empty at its end.
  Result<std::string_view> Read();
  // The digest ("sha256:<hex>") of the archive without its compression, all of which is read for it. After
  // the last Next.
  Result<std::string> UncompressedDigest();

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace flyball::node
