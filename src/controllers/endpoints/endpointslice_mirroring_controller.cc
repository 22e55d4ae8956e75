#include "controllers/endpoints/endpointslice_mirroring_controller.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "controller/objects/owner.h"
#include "controllers/endpoints/service_backends.h"
#include "controllers/endpoints/slice_labels.h"
#include "controllers/endpoints/slice_plan.h"
#include "controllers/endpoints/subsets.h"

namespace flyball::controllers {
namespace {

constexpr char kMirror[] = "endpointslicemirroring-controller.k8s.io";
constexpr char kMirrorIndex[] = "mirror";
constexpr char kSkipMirror[] = "endpointslice.kubernetes.io/skip-mirror";
// They belong to the Endpoints object alone and do not apply to the slice.
constexpr std::array<std::string_view, 2> kNotMirrored = {"endpoints.kubernetes.io/last-change-trigger-time",
                                                          "kubectl.kubernetes.io/last-applied-configuration"};
// The most addresses per subset (upstream: mirroring-max-endpoints-per-subset).
constexpr std::size_t kMaxMirrored = 1000;

using SlicePtr = std::shared_ptr<const EndpointSlice>;

bool IsMirrored(const Endpoints& endpoints) {
  const auto skip = endpoints.metadata.labels.find(kSkipMirror);
  return (skip == endpoints.metadata.labels.end() || skip->second != "true") &&
         !endpoints.metadata.annotations.contains(kLeaderRecord) && !IsDeleting(endpoints.metadata);
}

EndpointSlice PatternOf(const Endpoints& endpoints) {
  EndpointSlice slice;
  slice.metadata = ChildOf(endpoints);
  slice.metadata.name.clear();
  slice.metadata.generate_name = endpoints.metadata.name + "-";
  slice.metadata.labels = endpoints.metadata.labels;
  slice.metadata.labels[kServiceName] = endpoints.metadata.name;
  slice.metadata.labels[kSliceManagedBy] = kMirror;
  for (const auto& [name, value] : endpoints.metadata.annotations)
    if (std::find(kNotMirrored.begin(), kNotMirrored.end(), name) == kNotMirrored.end())
      slice.metadata.annotations[name] = value;
  return slice;
}

Endpoint EndpointAt(const EndpointAddress& address, bool ready) {
  Endpoint endpoint;
  endpoint.addresses = {address.ip};
  endpoint.conditions.ready = ready;
  endpoint.target_ref = address.target_ref;
  endpoint.node_name = address.node_name;
  if (!address.hostname.empty()) endpoint.hostname = address.hostname;
  return endpoint;
}

// A subset's endpoints, ready ones first, up to the mirroring limit.
std::vector<Endpoint> EndpointsIn(const EndpointSubset& subset) {
  std::vector<Endpoint> endpoints;
  for (const EndpointAddress& address : subset.addresses) endpoints.push_back(EndpointAt(address, true));
  for (const EndpointAddress& address : subset.not_ready_addresses)
    endpoints.push_back(EndpointAt(address, false));
  endpoints.resize(std::min(endpoints.size(), kMaxMirrored));
  return endpoints;
}

// One slice per family and set of ports, however many endpoints. Removes slices that stay from `existing`.
void PlanMirrorOf(const EndpointSlice& wanted, std::vector<SlicePtr>& existing, SlicePlan& plan) {
  const auto same = std::find_if(existing.begin(), existing.end(), [&](const SlicePtr& slice) {
    return slice->address_type == wanted.address_type && slice->ports == wanted.ports;
  });
  if (same == existing.end()) {
    plan.create.push_back(wanted);
    return;
  }
  EndpointSlice updated = **same;
  updated.metadata.labels = wanted.metadata.labels;
  updated.metadata.annotations = wanted.metadata.annotations;
  updated.endpoints = wanted.endpoints;
  if (updated != **same) plan.update.push_back(std::move(updated));
  existing.erase(same);
}

SlicePlan PlanMirror(const Endpoints& endpoints, std::vector<SlicePtr> existing, Context& ctx) {
  SlicePlan plan;
  std::size_t skipped = 0;
  for (const EndpointSubset& subset : RepackSubsets(endpoints.subsets)) {
    const std::vector<Endpoint> mirrored = EndpointsIn(subset);
    skipped += subset.addresses.size() + subset.not_ready_addresses.size() - mirrored.size();
    for (const char* family : {"IPv4", "IPv6"}) {
      EndpointSlice wanted = PatternOf(endpoints);
      wanted.address_type = family;
      wanted.ports = SlicePortsOf(subset.ports);
      for (const Endpoint& endpoint : mirrored)
        if (FamilyOf(endpoint.addresses[0]) == family) wanted.endpoints.push_back(endpoint);
      if (!wanted.endpoints.empty()) PlanMirrorOf(wanted, existing, plan);
    }
  }
  plan.remove = std::move(existing);
  Recycle(plan);
  if (skipped > 0)
    ctx.recorder().Warning(endpoints, "TooManyAddressesToMirror",
                           "A max of " + std::to_string(kMaxMirrored) +
                               " addresses can be mirrored to EndpointSlices per Endpoints subset. " +
                               std::to_string(skipped) + " addresses were skipped");
  return plan;
}

Result<Action> ReconcileMirror(const ObjectKey& key, Context& ctx) {
  const auto endpoints = ctx.lister<Endpoints>().Get(key);
  const auto service = ctx.lister<Service>().Get(key);
  std::vector<SlicePtr> existing = ctx.lister<EndpointSlice>().ByIndex(kMirrorIndex, key.ToString());
  std::erase_if(existing, [](const SlicePtr& slice) { return IsDeleting(slice->metadata); });
  SlicePlan plan;
  // With a selector, the slices are made from the pods.
  if (endpoints && IsMirrored(*endpoints) && service && service->spec.selector.empty())
    plan = PlanMirror(*endpoints, std::move(existing), ctx);
  else
    plan.remove = std::move(existing);
  FLYBALL_TRY(Execute(plan, ctx.client()));
  return Done();
}

}  // namespace

Status AddEndpointSliceMirroringController(Manager& manager, int workers) {
  return manager.For<Endpoints>()
      .Named("endpointslice-mirroring-controller")
      .Index<EndpointSlice>(kMirrorIndex,
                            [](const EndpointSlice& slice) { return ServiceIndexOf(slice, kMirror); })
      .Watches<Service>([](const Service& service) {
        return std::vector{ObjectKey{service.metadata.namespace_, service.metadata.name}};
      })
      .Watches<EndpointSlice>([](const EndpointSlice& slice) { return ServiceOf(slice, kMirror); })
      .Workers(workers)
      .Reconcile([](const ObjectKey& key, Context& ctx) { return ReconcileMirror(key, ctx); });
}

}  // namespace flyball::controllers
