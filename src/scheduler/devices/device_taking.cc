// Taking devices for a claim, and giving them back: the part of the search that keeps count.
#include <algorithm>

#include "scheduler/devices/device_search.h"

namespace flyball::scheduler {

// With admin access a device may be in use, though not twice in one claim.
bool DeviceSearch::IsTaken(const ClaimSearch& claim, const WishState& wish,
                           const DeviceCandidate& candidate) const {
  if (wish.wish.admin)
    return !candidate.IsShared() &&
           std::any_of(claim.choices.begin(), claim.choices.end(),
                       [&](const DeviceChoice& c) { return c.candidate.device == candidate.device; });
  return inventory_.allocated.contains(candidate.id) ||
         (!candidate.IsShared() && taken_.contains(candidate.id));
}

bool DeviceSearch::TaintsAreTolerated(const WishState& wish, const DeviceCandidate& candidate) const {
  for (const DeviceTaint& taint : TaintsOf(candidate.id, *candidate.device, inventory_.rules)) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    const bool tolerated =
        std::any_of(wish.wish.tolerations->begin(), wish.wish.tolerations->end(),
                    [&](const DeviceToleration& toleration) { return Tolerates(toleration, taint); });
    if (!tolerated) return false;
  }
  return true;
}

// Changes nothing if it returns false.
bool DeviceSearch::Take(ClaimSearch& claim, const WishState& wish, const DeviceCandidate& candidate,
                        Amounts& consumed) {
  if (IsTaken(claim, wish, candidate) || !TaintsAreTolerated(wish, candidate)) return false;
  const auto amounts = AmountsOf(*wish.wish.capacity, *candidate.device);
  Amounts before;
  if (const auto shared = inventory_.shared.find(candidate.id); shared != inventory_.shared.end())
    before = shared->second;
  if (const auto mine = consumed_.find(candidate.id); mine != consumed_.end())
    for (const auto& [name, amount] : mine->second) before[name] += amount;
  if (!amounts || !Fits(*amounts, before, *candidate.device)) return false;
  // A shared device that is in use has its counters already.
  const bool needs_counters = !candidate.IsShared() || !IsInUse(candidate.id);
  if (needs_counters && !TakeCounters(candidate)) return false;
  for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
    if (claim.constraints[i].Add(wish.wish, candidate.id, *candidate.device)) continue;
    while (i > 0) claim.constraints[--i].Remove(wish.wish);
    if (needs_counters) GiveCountersBack(candidate);
    return false;
  }
  ++taken_[candidate.id];
  if (candidate.IsShared()) {
    consumed = *amounts;
    for (const auto& [name, amount] : consumed) consumed_[candidate.id][name] += amount;
  }
  return true;
}

void DeviceSearch::GiveBack(ClaimSearch& claim, const DeviceChoice& choice) {
  const DeviceId& id = choice.candidate.id;
  for (ConstraintState& constraint : claim.constraints) constraint.Remove(choice.wish->wish);
  for (const auto& [name, amount] : choice.consumed) consumed_[id][name] -= amount;
  if (--taken_[id] == 0) taken_.erase(id);
  if (!choice.candidate.IsShared() || !IsInUse(id)) GiveCountersBack(choice.candidate);
}

DeviceSearch::Counters& DeviceSearch::FreeCounters(const DevicePool& pool) {
  const auto [known, fresh] = counters_.try_emplace(&pool);
  Counters& free = known->second;
  if (!fresh) return free;
  for (const ResourceSlice* slice : pool.all_slices)
    for (const CounterSet& set : slice->spec.shared_counters)
      for (const auto& [name, counter] : set.counters) free[{set.name, name}] = counter.value;
  for (const ResourceSlice* slice : pool.all_slices)
    for (const Device& device : slice->spec.devices) {
      const DeviceId id{pool.driver, pool.name, device.name};
      if (!inventory_.allocated.contains(id) && !inventory_.shared.contains(id)) continue;
      for (const DeviceCounterConsumption& use : device.consumes_counters)
        for (const auto& [name, counter] : use.counters) free[{use.counter_set, name}] -= counter.value;
    }
  return free;
}

bool DeviceSearch::TakeCounters(const DeviceCandidate& candidate) {
  if (candidate.device->consumes_counters.empty()) return true;
  Counters& free = FreeCounters(*candidate.pool);
  bool enough = true;
  for (const DeviceCounterConsumption& use : candidate.device->consumes_counters)
    for (const auto& [name, counter] : use.counters) {
      api::Quantity& left = free[{use.counter_set, name}];
      left -= counter.value;
      enough = enough && left.Sign() >= 0;
    }
  if (!enough) GiveCountersBack(candidate);
  return enough;
}

void DeviceSearch::GiveCountersBack(const DeviceCandidate& candidate) {
  if (candidate.device->consumes_counters.empty()) return;
  Counters& free = FreeCounters(*candidate.pool);
  for (const DeviceCounterConsumption& use : candidate.device->consumes_counters)
    for (const auto& [name, counter] : use.counters) free[{use.counter_set, name}] += counter.value;
}

}  // namespace flyball::scheduler
