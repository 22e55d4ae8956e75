// The node index finds the pods bound to a node without looking at all others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "informer/informer_factory.h"

namespace flyball::controllers {

inline constexpr std::string_view kPodNodeIndex = "node";

// Adds the node index to the cache of pods. Several controllers request it; the first one creates it.
inline Status AddPodNodeIndex(InformerFactory& informers) {
  const Status added = informers.For<Pod>().AddIndex(std::string(kPodNodeIndex),
                                                     [](const Pod& pod) -> std::vector<std::string> {
                                                       if (pod.spec.node_name.empty()) return {};
                                                       return {pod.spec.node_name};
                                                     });
  if (!added && !added.error().Is(Reason::kAlreadyExists)) return added;
  return {};
}

inline std::vector<std::shared_ptr<const Pod>> PodsOnNode(const Lister<Pod>& pods, const std::string& node) {
  return pods.ByIndex(kPodNodeIndex, node);
}

inline std::vector<ObjectKey> KeysOfPodsOnNode(const Lister<Pod>& pods, const std::string& node) {
  std::vector<ObjectKey> keys;
  for (const auto& pod : PodsOnNode(pods, node))
    keys.push_back({pod->metadata.namespace_, pod->metadata.name});
  return keys;
}

}  // namespace flyball::controllers
