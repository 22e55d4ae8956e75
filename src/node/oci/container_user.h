// Who a container's process is: by its spec, its pod and its image (upstream: the CRI's RunAsUser and
// containerd's oci.WithUser).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "base/values/result.h"

namespace flyball::node {

struct ContainerUser {
  std::int64_t uid = 0, gid = 0;
  std::vector<std::int64_t> groups;  // further ones
};

// `image_user` is the image's USER ("", "name", "1000", "1000:100"); names are looked up in etc/passwd and
// etc/group below `rootfs`, whose links do not lead out of it. BadRequest in kubelet's words if a name is
// unknown or runAsNonRoot forbids the user.
Result<ContainerUser> ResolveUser(const Pod& pod, const Container& container, const std::string& image_user,
                                  const std::string& rootfs);

}  // namespace flyball::node
