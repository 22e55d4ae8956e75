// ImageReference: the name of an image, as `spec.containers[].image` has it, in its parts (upstream:
// distribution/reference). "busybox" means docker.io/library/busybox:latest.
#pragma once

#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::node {

struct ImageReference {
  std::string registry;    // "docker.io", "localhost:5000"
  std::string repository;  // "library/busybox"
  std::string tag;         // empty only where a digest is given
  std::string digest;      // "sha256:<64 hex digits>", or empty

  // BadRequest with upstream's words if the text is not a name.
  static Result<ImageReference> Parse(std::string_view text);

  // "docker.io/library/busybox:1.36"; with a digest "docker.io/library/busybox@sha256:...", whatever the tag.
  std::string Name() const;
  // The name without tag and digest.
  std::string Repository() const { return registry + "/" + repository; }

  bool operator==(const ImageReference&) const = default;
};

// Whether the text is "sha256:" and 64 lower-case hex digits. Other algorithms are not supported.
bool IsDigest(std::string_view text);

}  // namespace flyball::node
