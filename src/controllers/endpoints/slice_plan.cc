#include "controllers/endpoints/slice_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace flyball::controllers {
namespace {

// The identity of an endpoint: its pod and its address.
std::string IdentityOf(const Endpoint& endpoint) {
  return (endpoint.target_ref ? endpoint.target_ref->uid : "") + "/" +
         (endpoint.addresses.empty() ? "" : endpoint.addresses[0]);
}

// The slice's endpoints that are in `wanted`, updated; removes them from `wanted`.
EndpointSlice Kept(const EndpointSlice& slice, const EndpointSlice& pattern,
                   std::map<std::string, Endpoint>& wanted) {
  EndpointSlice kept = slice;
  kept.metadata.labels = pattern.metadata.labels;
  kept.ports = pattern.ports;
  kept.endpoints.clear();
  for (const Endpoint& endpoint : slice.endpoints) {
    const auto found = wanted.find(IdentityOf(endpoint));
    if (found == wanted.end()) continue;
    kept.endpoints.push_back(std::move(found->second));
    wanted.erase(found);
  }
  return kept;
}

void Fill(EndpointSlice& slice, std::map<std::string, Endpoint>& wanted) {
  while (slice.endpoints.size() < kMaxEndpoints && !wanted.empty()) {
    slice.endpoints.push_back(std::move(wanted.begin()->second));
    wanted.erase(wanted.begin());
  }
}

using Slices = std::vector<EndpointSlice>;

// Slices that change anyway take as many as they can, the fullest first.
void FillChanged(Slices& kept, const std::vector<bool>& changed, std::map<std::string, Endpoint>& wanted) {
  std::vector<EndpointSlice*> slices;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (changed[i] && !kept[i].endpoints.empty()) slices.push_back(&kept[i]);
  std::stable_sort(slices.begin(), slices.end(), [](const EndpointSlice* a, const EndpointSlice* b) {
    return a->endpoints.size() > b->endpoints.size();
  });
  for (EndpointSlice* slice : slices) Fill(*slice, wanted);
}

// Of the slices not changed so far, the one that all of `wanted` fits into and that is the fullest
// afterwards.
std::optional<std::size_t> BestFit(const Slices& kept, const std::vector<bool>& changed, std::size_t count) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::size_t size = kept[i].endpoints.size();
    if (changed[i] || size + count > kMaxEndpoints) continue;
    if (!best || size > kept[*best].endpoints.size()) best = i;
  }
  return best;
}

}  // namespace

void PlanSlices(const std::vector<std::shared_ptr<const EndpointSlice>>& existing,
                const EndpointSlice& pattern, std::vector<Endpoint> endpoints, bool keep_one,
                SlicePlan& plan) {
  std::map<std::string, Endpoint> wanted;
  for (Endpoint& endpoint : endpoints) wanted.emplace(IdentityOf(endpoint), std::move(endpoint));
  Slices kept;
  std::vector<bool> changed;
  for (const auto& slice : existing) {
    kept.push_back(Kept(*slice, pattern, wanted));
    changed.push_back(kept.back() != *slice);
  }
  FillChanged(kept, changed, wanted);
  while (wanted.size() >= kMaxEndpoints) {
    plan.create.push_back(pattern);
    Fill(plan.create.back(), wanted);
  }
  if (!wanted.empty())
    if (const auto best = BestFit(kept, changed, wanted.size())) Fill(kept[*best], wanted);
  bool some = false;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool needed = !kept[i].endpoints.empty() || (keep_one && !some);
    some |= needed;
    if (!needed)
      plan.remove.push_back(existing[i]);
    else if (kept[i] != *existing[i])
      plan.update.push_back(std::move(kept[i]));
  }
  if (wanted.empty() && (!keep_one || some)) return;
  plan.create.push_back(pattern);
  Fill(plan.create.back(), wanted);
}

void SlicePlan::Append(SlicePlan other) {
  std::move(other.create.begin(), other.create.end(), std::back_inserter(create));
  std::move(other.update.begin(), other.update.end(), std::back_inserter(update));
  std::move(other.remove.begin(), other.remove.end(), std::back_inserter(remove));
}

void Recycle(SlicePlan& plan) {
  std::vector<EndpointSlice> create = std::exchange(plan.create, {});
  for (EndpointSlice& wanted : create) {
    const auto reused = std::find_if(plan.remove.begin(), plan.remove.end(), [&](const auto& slice) {
      return slice->address_type == wanted.address_type;
    });
    if (reused == plan.remove.end()) {
      plan.create.push_back(std::move(wanted));
      continue;
    }
    EndpointSlice updated = **reused;
    updated.metadata.labels = std::move(wanted.metadata.labels);
    updated.metadata.annotations = std::move(wanted.metadata.annotations);
    updated.endpoints = std::move(wanted.endpoints);
    updated.ports = std::move(wanted.ports);
    plan.update.push_back(std::move(updated));
    plan.remove.erase(reused);
  }
}

Status Execute(const SlicePlan& plan, const Client& client) {
  for (const EndpointSlice& slice : plan.create) {
    const auto made = client.Create(slice);
    if (!made && !made.error().HasCause("NamespaceTerminating")) return Unexpected(made.error());
  }
  for (const EndpointSlice& slice : plan.update) FLYBALL_TRY(client.Update(slice));
  for (const auto& slice : plan.remove) {
    const Status deleted = client.Delete(*slice);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  }
  return {};
}

}  // namespace flyball::controllers
