#include "scheduler/devices/device_allocator.h"

#include <algorithm>
#include <utility>

#include "scheduler/devices/device_search.h"

namespace flyball::scheduler {
namespace {

void AddRequirements(const std::vector<NodeSelectorRequirement>& from,
                     std::vector<NodeSelectorRequirement>& to) {
  for (const NodeSelectorRequirement& requirement : from)
    if (std::find(to.begin(), to.end(), requirement) == to.end()) to.push_back(requirement);
}

DeviceRequestAllocationResult ResultOf(const DeviceChoice& choice, Random& random) {
  DeviceRequestAllocationResult result;
  const DeviceWish& wish = choice.wish->wish;
  result.request = wish.name;
  result.driver = choice.candidate.id.driver;
  result.pool = choice.candidate.id.pool;
  result.device = choice.candidate.id.device;
  result.tolerations = *wish.tolerations;
  if (wish.admin) result.admin_access = true;
  if (choice.candidate.IsShared()) {
    result.share_id = random.Uuid();
    result.consumed_capacity = choice.consumed;
  }
  return result;
}

}  // namespace

// Where the devices can be used: the node, if one of them is local to it; else what their selectors say
// together.
api::Optional<NodeSelector> DeviceSearch::SelectorOf(const ClaimSearch& claim) const {
  NodeSelector selector;
  NodeSelectorTerm& term = selector.node_selector_terms.emplace_back();
  for (const DeviceChoice& choice : claim.choices) {
    const ResourceSliceSpec& slice = choice.candidate.slice->spec;
    const Device& device = *choice.candidate.device;
    const bool by_device = slice.per_device_node_selection.value_or(false);
    const auto& name = by_device ? device.node_name : slice.node_name;
    const auto& nodes = by_device ? device.node_selector : slice.node_selector;
    if ((name && !name->empty()) || device.binds_to_node.value_or(false)) {
      term = {};
      term.match_fields.push_back(
          {.key = "metadata.name", .operator_ = "In", .values = {node_.metadata.name}});
      return selector;
    }
    if (!nodes || nodes->node_selector_terms.empty()) continue;
    AddRequirements(nodes->node_selector_terms[0].match_fields, term.match_fields);
    AddRequirements(nodes->node_selector_terms[0].match_expressions, term.match_expressions);
  }
  if (term.match_fields.empty() && term.match_expressions.empty()) return std::nullopt;
  return selector;
}

std::vector<AllocationResult> DeviceSearch::Results(Random& random) const {
  std::vector<AllocationResult> results;
  for (const ClaimSearch& claim : claims_) {
    AllocationResult& result = results.emplace_back();
    for (const DeviceChoice& choice : claim.choices)
      result.devices.results.push_back(ResultOf(choice, random));
    std::vector<DeviceWish> chosen;
    std::vector<const DeviceClass*> classes;
    for (const RequestState& request : claim.requests) {
      chosen.push_back(request.alternatives[request.chosen].wish);
      classes.push_back(request.alternatives[request.chosen].device_class);
    }
    AddConfiguration(*claim.claim, chosen, classes, result.devices);
    result.node_selector = SelectorOf(claim);
  }
  return results;
}

void DeviceInventory::Take(const AllocationResult& allocation) {
  for (const DeviceRequestAllocationResult& result : allocation.devices.results) {
    if (result.admin_access.value_or(false)) continue;
    DeviceId id{result.driver, result.pool, result.device};
    if (!result.share_id) {
      allocated.insert(std::move(id));
      continue;
    }
    Amounts& amounts = shared[id];
    for (const auto& [name, amount] : result.consumed_capacity) amounts[name] += amount;
  }
}

Result<std::optional<std::vector<AllocationResult>>> DeviceAllocator::Allocate(
    const Node& node, const std::vector<ClaimPtr>& claims) {
  DeviceSearch search(inventory_, selectors_, node);
  FLYBALL_TRY(search.Prepare(claims));
  FLYBALL_ASSIGN(const bool found, search.Run());
  if (!found) return std::optional<std::vector<AllocationResult>>();
  return std::optional(search.Results(random_));
}

}  // namespace flyball::scheduler
