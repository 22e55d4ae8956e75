// Static pods: a pod that a node runs because a file of its says so (upstream: kubelet/config).
//
// A mirror pod is what the API server knows of one: the node creates it, and deleting it changes nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/types/core.h"
#include "base/values/result.h"

namespace flyball::node {

inline constexpr char kConfigSource[] =
    "kubernetes.io/config.source";  // "file"; of a pod from the server: "api"
inline constexpr char kConfigHash[] = "kubernetes.io/config.hash";
inline constexpr char kConfigMirror[] = "kubernetes.io/config.mirror";
inline constexpr char kConfigSeen[] = "kubernetes.io/config.seen";

bool IsMirrorPod(const Pod& pod);
// It comes from somewhere else than the API server.
bool IsStaticPod(const Pod& pod);
// "namespace/name"
std::string PodKeyOf(const Pod& pod);

// The pod of a manifest (YAML or JSON), as it runs on the node: with its defaults, the name NAME-NODE, and a
// UID that is the same as long as manifest, file and node are. BadRequest in kubelet's words if it is no pod,
// is not valid, or needs objects of the API server.
Result<std::shared_ptr<const Pod>> ReadStaticPod(std::string_view text, const std::string& file,
                                                 const std::string& node);

// What the node creates for it. `node_uid`: of the Node, which owns it.
Pod MirrorOf(const Pod& pod, const std::string& node_uid);

}  // namespace flyball::node
