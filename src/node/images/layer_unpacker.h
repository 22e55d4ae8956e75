// Unpacks a layer of an image into a folder for overlayfs (upstream: containerd's archive.Apply). Whiteouts
// become overlayfs' (character device 0/0, `trusted.overlay.opaque`). Owners, modes, times, hard links,
// devices and extended attributes are kept; attributes that mean something to overlayfs itself are not taken
// from the archive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "node/images/archive_reader.h"

namespace flyball::node {

// What a layer may have, at most: enough for every honest image, and no more than a disk can bear.
struct LayerLimits {
  std::int64_t max_bytes = std::int64_t{32} << 30;  // of the archive without its compression
  std::int64_t max_entries = 2'000'000;
};

// Fills `folder`, which must be empty, and returns the digest of the archive without its compression (its
// diff id). `lower`: the folders of the layers below, the lowest first; folders that the archive only implies
// and the targets of hard links are looked for there. On failure the folder is left as it is: the caller
// removes it. BadRequest if the archive is damaged, too large, or has a name or hard link that leads out.
// Requires root for owners, devices and whiteouts; blocks.
Result<std::string> UnpackLayer(ArchiveReader& archive, const std::string& folder,
                                const std::vector<std::string>& lower, const LayerLimits& limits = {});

}  // namespace flyball::node
