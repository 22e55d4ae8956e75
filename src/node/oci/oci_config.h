// config.json: what runc is told about a container, from its pod, its spec and its image (OCI runtime
// specification; upstream: kubelet's kuberuntime and containerd's CRI plugin).
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"
#include "node/images/image_config.h"
#include "node/oci/container_user.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

struct OciConfigInput {
  const ContainerConfig& container;  // with pod and spec
  const ImageConfig& image;
  ContainerUser user;
  pid_t monitor = 0;        // whose namespaces the pod shares
  pid_t pause = 0;          // whose PID namespace the pod shares; 0: each container has its own
  std::string cgroup_path;  // "/kubepods/burstable/pod<uid>/<id>"
  std::vector<ContainerMount> mounts;
  std::string seccomp_folder{};  // where profiles of type Localhost are
};

// The command of a container: its spec's, completed from the image. BadRequest if there is none.
Result<std::vector<std::string>> CommandOf(const ContainerConfig& container, const ImageConfig& image);
// NAME=value, the image's first, each name once.
std::vector<std::string> EnvironmentOf(const ContainerConfig& container, const ImageConfig& image);

// BadRequest if a part of the spec cannot be had here, naming it.
Result<json::Value> MakeOciConfig(const OciConfigInput& input);

// What the cgroup of a container has: the member `resources` of its configuration, without devices.
json::Object CgroupResources(const Container& spec);

// The cgroup that all pods are in, below the root's ("" is the machine's).
std::string PodsCgroup(const std::string& cgroup_root);
// Below that, by its QoS class.
std::string PodCgroup(const std::string& pods_cgroup, const Pod& pod);

}  // namespace flyball::node
