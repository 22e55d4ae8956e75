// What a pod refers to in its namespace: a node may read it for the pods it runs, and may not make a pod that
// refers to anything (upstream: VisitPodSecretNames, VisitPodConfigmapNames, the node authorizer's graph).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "json/value.h"

namespace flyball::server {

// Names, by kind. Values; thread-compatible.
struct PodReferences {
  std::set<std::string> service_accounts, secrets, config_maps, volume_claims, resource_claims;
};
PodReferences ReferencesOf(const json::Value& pod);

// A pod that only shows what a node runs by itself.
bool IsMirrorPod(const json::Value& pod);
inline constexpr std::string_view kMirrorPodAnnotation = "kubernetes.io/config.mirror";

// "namespace/name" of every Secret a node needs to mount the volume.
std::set<std::string> VolumeSecrets(const json::Value& persistent_volume);

}  // namespace flyball::server
