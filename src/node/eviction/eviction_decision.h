// Which pod has to go, and what it is told (upstream: kubelet's eviction manager).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "node/eviction/eviction_thresholds.h"

namespace flyball::node {

// The reason of a pod that was evicted, and of one that was not taken.
inline constexpr char kEvictedReason[] = "Evicted";

struct EvictionCandidate {
  std::shared_ptr<const Pod> pod;
  PodStats stats;  // without containers if nothing is known of it
};

struct Eviction {
  std::string uid, message;
  bool by_pressure = false;  // else it used more disk than it may
};

// Whether the pod has limits on what it may use of the disk, which nobody but the node enforces.
bool HasDiskLimits(const Pod& pod);

// Those whose emptyDirs, containers or total have outgrown their limits.
std::vector<Eviction> OverDiskLimits(const std::vector<EvictionCandidate>& pods);

// Of those that are not critical, the one to evict for the first of the thresholds that are met: those above
// their requests first, then those of low priority, then those furthest above their requests.
std::optional<Eviction> ChooseEviction(const EvictionThresholds& met, const SignalObservations& observations,
                                       std::vector<EvictionCandidate> pods);
// What is reclaimed first: memory before everything else.
const EvictionThreshold& FirstToReclaim(const EvictionThresholds& met);

// System-critical by its priority, or not of the API server.
bool IsCriticalPod(const Pod& pod);

// Why a node with these conditions does not take the pod: "The node had condition: [DiskPressure]. ".
std::optional<std::string> WhyNotUnderPressure(const Pod& pod, const std::vector<std::string>& conditions);

}  // namespace flyball::node
