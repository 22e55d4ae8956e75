// LayerArchive: writes the tar archive of a layer into a blob, on libarchive.
#pragma once

#include <memory>
#include <string>

#include "base/values/result.h"
#include "node/images/blob_store.h"
#include "node/images/image_config.h"

struct archive;

namespace flyball::node {

// Thread-compatible. Every entry belongs to root and has the time zero.
class LayerArchive {
 public:
  static Result<std::unique_ptr<LayerArchive>> New(const BlobStore& blobs, std::int64_t max_size);
  ~LayerArchive();

  // Adds what is at `source` (a path, below which links are not followed) under `target` in the layer,
  // folders with all they have. `target` has no leading slash; empty: the root.
  Status AddTree(const std::string& source, const std::string& target);
  Status AddFolder(const std::string& target);
  // The blob's descriptor; its digest is the diff id too, since nothing is compressed.
  Result<ContentDescriptor> Finish();

 private:
  explicit LayerArchive(std::unique_ptr<BlobWriter> blob);
  Status AddOne(const std::string& source, const std::string& target);
  Status CopyContent(const std::string& source, std::int64_t size);

  std::unique_ptr<BlobWriter> blob_;
  Status written_;  // what became of the last write
  archive* archive_;
};

}  // namespace flyball::node
