#include "node/eviction/pressure_tracker.h"

#include <algorithm>

namespace flyball::node {

bool PressureTracker::Update(const EvictionThresholds& met, TimePoint now) {
  for (const EvictionThreshold& threshold : met) seen_[ConditionOfSignal(threshold.signal)] = now;
  std::erase_if(seen_, [&](const auto& entry) { return now - entry.second >= kTransition; });
  std::vector<std::string> conditions;
  for (const auto& [condition, at] : seen_) conditions.push_back(condition);
  const bool changed = conditions != conditions_;
  conditions_ = std::move(conditions);
  return changed;
}

bool PressureTracker::Has(const std::string& condition) const {
  return std::find(conditions_.begin(), conditions_.end(), condition) != conditions_.end();
}

}  // namespace flyball::node
