// A folder of small files that changes all at once (upstream: volume/util/atomic_writer.go): `..data` is a
// link to a folder with all files, each name is a link through it, and a change is one rename.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "base/values/result.h"

namespace flyball::node {

struct VolumeFile {
  std::string content;
  mode_t mode = 0644;
  std::optional<uid_t> owner{};

  bool operator==(const VolumeFile&) const = default;
};
// By path in the volume: "token", "certs/ca.crt".
using VolumeFiles = std::map<std::string, VolumeFile>;

// Makes the folder hold exactly these files; nothing happens if it does. `group`: who they belong to.
// BadRequest if a path leads out.
Status WriteAtomically(const std::string& folder, const VolumeFiles& files, std::optional<gid_t> group);

}  // namespace flyball::node
