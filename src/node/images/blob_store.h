// BlobStore: files named by the SHA-256 of their content: `<root>/blobs/sha256/<hex>`. What has a name is
// whole and was verified when it was written; a crash leaves at most files under `<root>/incoming`, which the
// next BlobStore of the folder's owner removes (RemoveLeftovers).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "crypto/digest.h"

namespace flyball::node {

// "sha256:<hex>" of some bytes.
std::string DigestOf(std::string_view bytes);

class BlobStore;

// A blob that is being written. Removed with the object unless committed. Thread-compatible.
class BlobWriter {
 public:
  BlobWriter(const BlobWriter&) = delete;
  ~BlobWriter();

  // BadRequest once more than `max_size` bytes were written.
  Status Write(std::string_view data);
  std::int64_t size() const { return size_; }
  // Gives the blob its name, durably, and returns the digest. BadRequest, and nothing is kept, if `expected`
  // is not empty and not the digest.
  Result<std::string> Commit(const std::string& expected = {});

 private:
  friend class BlobStore;
  BlobWriter(const BlobStore& store, std::string path, int fd, std::int64_t max_size)
      : store_(store), path_(std::move(path)), fd_(fd), max_size_(max_size) {}

  const BlobStore& store_;
  std::string path_;
  int fd_;
  const std::int64_t max_size_;
  std::int64_t size_ = 0;
  crypto::Sha256 hash_;
};

// Thread-safe; several processes may use one folder.
class BlobStore {
 public:
  // Makes the folders, for their owner alone (0700).
  static Result<BlobStore> Open(const std::string& root);

  // `max_size`: the most bytes it may have.
  Result<std::unique_ptr<BlobWriter>> New(std::int64_t max_size) const;
  Result<std::string> Add(std::string_view bytes) const;
  bool Has(const std::string& digest) const;
  // Requires a valid digest.
  std::string Path(const std::string& digest) const;
  // The whole blob, checked against its digest again. NotFound; BadRequest if it is larger than `max_size` or
  // is not what its name says.
  Result<std::string> Read(const std::string& digest, std::int64_t max_size) const;
  void Remove(const std::string& digest) const;
  std::vector<std::string> List() const;
  // A new, empty, private folder below `incoming`.
  Result<std::string> NewFolder() const;

 private:
  explicit BlobStore(std::string root) : root_(std::move(root)) {}
  std::string root_;
};

}  // namespace flyball::node
