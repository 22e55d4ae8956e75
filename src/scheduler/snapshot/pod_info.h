// PodInfo: a pod with the derived values that scheduling needs, computed once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "scheduler/snapshot/matching.h"
#include "scheduler/snapshot/resources.h"

namespace flyball::scheduler {

// The labels of every namespace, by its name.
using NamespaceLabels = std::map<std::string, Labels>;

// A term of pod affinity or anti-affinity, from the view of the pod that has it.
struct AffinityTerm {
  std::string topology_key;
  api::Optional<LabelSelector> selector;
  std::vector<std::string> namespaces;              // the pod's own if it names none
  api::Optional<LabelSelector> namespace_selector;  // of additional namespaces
  std::int64_t weight = 0;                          // of preferred terms

  bool Matches(const Pod& other, const NamespaceLabels& all) const;
};

struct HostPort {
  std::string ip, protocol;
  std::int32_t port = 0;
  auto operator<=>(const HostPort&) const = default;
};
// Whether both ports can be used on one node.
bool Conflict(const HostPort& a, const HostPort& b);

// Immutable; shared by the cache, the queue and running attempts.
struct PodInfo {
  explicit PodInfo(std::shared_ptr<const Pod> pod);

  std::shared_ptr<const Pod> pod;
  std::int32_t priority = 0;
  Resources requests, nonzero_requests;
  std::vector<HostPort> ports;
  std::vector<AffinityTerm> required_affinity, required_anti_affinity;
  std::vector<AffinityTerm> preferred_affinity, preferred_anti_affinity;
  // Equal for pods that no selector can tell apart: namespace, labels, and whether the pod is being deleted.
  std::string likeness;

  const std::string& name() const { return pod->metadata.name; }
  const std::string& ns() const { return pod->metadata.namespace_; }
  const std::string& uid() const { return pod->metadata.uid; }
  bool HasAffinity() const {
    return !required_affinity.empty() || !required_anti_affinity.empty() || !preferred_affinity.empty() ||
           !preferred_anti_affinity.empty();
  }
};
using PodInfoPtr = std::shared_ptr<const PodInfo>;

}  // namespace flyball::scheduler
