// EvictionThresholds: how little of something is too little (upstream: kubelet's --eviction-hard).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/values/quantity.h"
#include "base/values/result.h"
#include "node/stats/usage.h"

namespace flyball::node {

// Kubelet's defaults.
inline constexpr char kDefaultEvictionHard[] =
    "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs."
    "inodesFree<5%";

struct EvictionThreshold {
  std::string signal;        // "memory.available"
  api::Quantity quantity{};  // below this it is met
  double share = 0;          // instead: of the capacity; 0: the quantity counts
};
using EvictionThresholds = std::vector<EvictionThreshold>;

// "memory.available<100Mi,nodefs.available<10%"; "" is none. BadRequest with upstream's text.
Result<EvictionThresholds> ParseEvictionThresholds(std::string_view text);

// How much there is, and how much there could be.
struct SignalObservation {
  api::Quantity available, capacity;
};
using SignalObservations = std::map<std::string, SignalObservation>;  // by signal
// Those that the stats say something about.
SignalObservations ObserveSignals(const NodeStats& stats);

// Below which amount a threshold is met.
api::Quantity ThresholdQuantity(const EvictionThreshold& threshold, const api::Quantity& capacity);
EvictionThresholds ThresholdsMet(const EvictionThresholds& thresholds,
                                 const SignalObservations& observations);

// "MemoryPressure"; "" of a signal that is none.
std::string ConditionOfSignal(std::string_view signal);
// "memory", "ephemeral-storage", "inodes" or "pids".
std::string ResourceOfSignal(std::string_view signal);

}  // namespace flyball::node
