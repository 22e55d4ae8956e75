// Images in files: what `docker save`, `podman save`, `skopeo copy` and `ctr image export` write, plain or
// compressed. Both layouts are known: Docker's (manifest.json) and OCI's (index.json, blobs/).
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "node/images/image_store.h"

namespace flyball::node {

// Adds all images of the archive and returns their names. `name` is given to an image that has none in the
// archive. BadRequest if the archive is damaged, too large, not of an image, or has content that is not what
// its digest says: then no image was added, and what was read is removed.
Result<std::vector<std::string>> LoadImageArchive(ImageStore& store, const std::string& path,
                                                  const std::string& name = {});

}  // namespace flyball::node
