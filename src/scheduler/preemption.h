// Preemption: chooses pods to evict so that a pod of higher priority fits (upstream: DefaultPreemption).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types/policy.h"
#include "scheduler/placement.h"

namespace flyball::scheduler {

struct PreemptionResult {
  std::string node;                 // empty: no eviction would help
  std::vector<PodInfoPtr> victims;  // most important first
  std::string message;              // why not, to append to the placement's message
};

// Call after Place found no node. Pure.
PreemptionResult FindVictims(const PodInfo& pod, const Snapshot& snapshot, const Placement& placement,
                             const std::vector<std::shared_ptr<const PodDisruptionBudget>>& budgets);

}  // namespace flyball::scheduler
