#include "scheduler/devices/device_pools.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/select/matching.h"

namespace flyball::scheduler {
namespace {

bool Reaches(const Node& node, const std::optional<std::string>& name, const std::optional<bool>& all,
             const api::Optional<NodeSelector>& selector) {
  if (name && !name->empty()) return *name == node.metadata.name;
  if (all.value_or(false)) return true;
  return selector && MatchesNode(*selector, node);
}

bool IsRelevant(const ResourceSlice& slice, const Node& node) {
  const ResourceSliceSpec& spec = slice.spec;
  if (!spec.per_device_node_selection.value_or(false))
    return Reaches(node, spec.node_name, spec.all_nodes, spec.node_selector);
  return std::any_of(spec.devices.begin(), spec.devices.end(),
                     [&](const Device& device) { return ReachesDevice(node, slice, device); });
}

bool HasTwins(const DevicePool& pool) {
  std::set<std::string> devices, counters;
  for (const ResourceSlice* slice : pool.all_slices) {
    for (const Device& device : slice->spec.devices)
      if (!devices.insert(device.name).second) return true;
    for (const CounterSet& set : slice->spec.shared_counters)
      if (!counters.insert(set.name).second) return true;
  }
  return false;
}

bool HasBindingConditions(const DevicePool& pool) {
  for (const ResourceSlice* slice : pool.slices)
    for (const Device& device : slice->spec.devices)
      if (!device.binding_conditions.empty()) return true;
  return false;
}

struct Newest {
  std::int64_t generation = 0;
  DevicePool pool;
};

// A slice of an older generation is a leftover.
void AddSlice(Newest& newest, const ResourceSlice& slice, bool relevant) {
  const ResourcePool& pool = slice.spec.pool;
  const bool first = newest.pool.all_slices.empty();
  if (!first && pool.generation < newest.generation) return;
  if (first || pool.generation > newest.generation) {
    newest.generation = pool.generation;
    newest.pool = {.driver = slice.spec.driver, .name = pool.name};
  }
  newest.pool.all_slices.push_back(&slice);
  if (relevant) newest.pool.slices.push_back(&slice);
}

}  // namespace

bool MatchesNode(const NodeSelector& selector, const Node& node) {
  return std::any_of(selector.node_selector_terms.begin(), selector.node_selector_terms.end(),
                     [&](const NodeSelectorTerm& term) { return Matches(term, node); });
}

bool ReachesDevice(const Node& node, const ResourceSlice& slice, const Device& device) {
  if (!slice.spec.per_device_node_selection.value_or(false)) return true;
  return Reaches(node, device.node_name, device.all_nodes, device.node_selector);
}

std::vector<DevicePool> GatherPools(const std::vector<SlicePtr>& slices, const Node& node) {
  std::map<std::pair<std::string, std::string>, Newest> by_name;
  for (const SlicePtr& slice : slices)
    AddSlice(by_name[{slice->spec.driver, slice->spec.pool.name}], *slice, IsRelevant(*slice, node));
  std::vector<DevicePool> pools, conditional;
  for (auto& [name, newest] : by_name) {
    DevicePool& pool = newest.pool;
    if (pool.slices.empty()) continue;
    const auto published = static_cast<std::int64_t>(pool.all_slices.size());
    pool.incomplete = published != pool.all_slices[0]->spec.pool.resource_slice_count;
    pool.invalid = HasTwins(pool);
    (HasBindingConditions(pool) ? conditional : pools).push_back(std::move(pool));
  }
  std::move(conditional.begin(), conditional.end(), std::back_inserter(pools));
  return pools;
}

std::vector<DeviceTaint> TaintsOf(const DeviceId& id, const Device& device,
                                  const std::vector<TaintRulePtr>& rules) {
  std::vector<DeviceTaint> taints = device.taints;
  for (const TaintRulePtr& rule : rules)
    if (Selects(*rule, id)) taints.push_back(rule->spec.taint);
  return taints;
}

}  // namespace flyball::scheduler
