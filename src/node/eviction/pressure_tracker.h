// PressureTracker: which of MemoryPressure, DiskPressure and PIDPressure a node has. One that was seen stays
// for a while, so that it does not flap.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "node/eviction/eviction_thresholds.h"

namespace flyball::node {

// A value; thread-compatible.
class PressureTracker {
 public:
  // Upstream: --eviction-pressure-transition-period.
  static constexpr Duration kTransition = std::chrono::minutes(5);

  // Takes what is met now. True if the conditions are others than before.
  bool Update(const EvictionThresholds& met, TimePoint now);
  // Sorted.
  const std::vector<std::string>& conditions() const { return conditions_; }
  bool Has(const std::string& condition) const;

 private:
  std::map<std::string, TimePoint> seen_;  // when each was last observed
  std::vector<std::string> conditions_;
};

}  // namespace flyball::node
