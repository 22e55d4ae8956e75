#include "controllers/endpoints/slice_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace flyball::controllers {
namespace {

// Who an endpoint is: its pod and its address.
std::string IdentityOf(const Endpoint& endpoint) {
  return (endpoint.target_ref ? endpoint.target_ref->uid : "") + "/" +
         (endpoint.addresses.empty() ? "" : endpoint.addresses[0]);
}

// What the slice holds of `wanted`, as it should be now; what it takes is removed from there.
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

}  // namespace

void PlanSlices(const std::vector<std::shared_ptr<const EndpointSlice>>& existing,
                const EndpointSlice& pattern, std::vector<Endpoint> endpoints, bool keep_one,
                SlicePlan& plan) {
  std::map<std::string, Endpoint> wanted;
  for (Endpoint& endpoint : endpoints) wanted.emplace(IdentityOf(endpoint), std::move(endpoint));
  std::vector<EndpointSlice> kept;
  for (const auto& slice : existing) kept.push_back(Kept(*slice, pattern, wanted));
  bool some = false;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    Fill(kept[i], wanted);
    const bool needed = !kept[i].endpoints.empty() || (keep_one && !some);
    some |= needed;
    if (!needed)
      plan.remove.push_back(existing[i]);
    else if (kept[i] != *existing[i])
      plan.update.push_back(std::move(kept[i]));
  }
  while (!wanted.empty() || (keep_one && !some)) {
    EndpointSlice fresh = pattern;
    Fill(fresh, wanted);
    plan.create.push_back(std::move(fresh));
    some = true;
  }
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
