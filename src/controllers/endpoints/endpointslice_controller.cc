#include "controllers/endpoints/endpointslice_controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "controller/objects/owner.h"
#include "controller/objects/pod_node_index.h"
#include "controllers/endpoints/service_backends.h"
#include "controllers/endpoints/slice_labels.h"
#include "controllers/endpoints/slice_plan.h"
#include "controllers/endpoints/subsets.h"
#include "controllers/endpoints/topology_hints.h"
#include "controllers/endpoints/trigger_times.h"

namespace flyball::controllers {
namespace {

constexpr char kSliceManager[] = "endpointslice-controller.k8s.io";
constexpr char kServiceIndex[] = "service";

using SlicePtr = std::shared_ptr<const EndpointSlice>;
using Ports = std::vector<EndpointSlicePort>;

EndpointSlice PatternFor(const Service& service, const std::string& family) {
  EndpointSlice slice;
  slice.metadata = ChildOf(service);
  slice.metadata.name.clear();
  slice.metadata.generate_name = service.metadata.name + "-";
  slice.metadata.labels = service.metadata.labels;
  slice.metadata.labels[kServiceName] = service.metadata.name;
  slice.metadata.labels[kSliceManagedBy] = kSliceManager;
  slice.metadata.labels.erase(kHeadlessLabel);
  if (IsHeadless(service)) slice.metadata.labels[kHeadlessLabel] = "";
  slice.address_type = family;
  return slice;
}

// Hints that keep clients in their zone (upstream: ReconcileHints).
api::Optional<EndpointHints> HintsFor(const Service& service, const Endpoint& endpoint) {
  const std::string wish = service.spec.traffic_distribution.value_or("");
  const bool same_node = wish == "PreferSameNode";
  const bool wanted =
      !WantsTopologyHints(service) && (same_node || wish == "PreferClose" || wish == "PreferSameZone");
  if (!wanted || !endpoint.conditions.ready.value_or(false)) return std::nullopt;
  EndpointHints hints;
  if (endpoint.zone) hints.for_zones.push_back({*endpoint.zone});
  if (same_node && endpoint.node_name) hints.for_nodes.push_back({*endpoint.node_name});
  if (hints == EndpointHints{}) return std::nullopt;
  return hints;
}

Endpoint EndpointOf(const Service& service, const Backend& backend, const Lister<Node>& nodes) {
  const Pod& pod = *backend.pod;
  Endpoint endpoint;
  endpoint.addresses = {backend.address};
  endpoint.conditions.ready = backend.ready;
  endpoint.conditions.serving = backend.serving;
  endpoint.conditions.terminating = backend.terminating;
  endpoint.target_ref = RefToPod(pod);
  if (!backend.hostname.empty()) endpoint.hostname = backend.hostname;
  if (!pod.spec.node_name.empty()) endpoint.node_name = pod.spec.node_name;
  if (const auto node = nodes.Get(pod.spec.node_name))
    if (const auto zone = node->metadata.labels.find(kZoneLabel); zone != node->metadata.labels.end())
      endpoint.zone = zone->second;
  endpoint.hints = HintsFor(service, endpoint);
  return endpoint;
}

struct PortGroup {
  Ports ports;
  std::vector<Endpoint> endpoints;
  std::vector<SlicePtr> slices;
};

PortGroup& GroupOf(std::vector<PortGroup>& groups, const Ports& ports) {
  for (PortGroup& group : groups)
    if (group.ports == ports) return group;
  return groups.emplace_back(PortGroup{ports, {}, {}});
}

void AllotByTopology(const Service& service, const std::string& family, std::vector<PortGroup>& groups,
                     TopologyHints& hints, Context& ctx) {
  if (!WantsTopologyHints(service)) return hints.Forget(service, family, ctx.recorder());
  std::vector<Endpoint*> endpoints;
  for (PortGroup& group : groups)
    for (Endpoint& endpoint : group.endpoints) endpoints.push_back(&endpoint);
  hints.Allot(service, family, ctx.lister<Node>().List(), std::move(endpoints), ctx.recorder());
}

// Plans the slices of one address family.
void PlanFamily(const Service& service, const std::string& family, const std::vector<Backend>& backends,
                const std::vector<SlicePtr>& existing, TopologyHints& hints, Context& ctx, SlicePlan& plan) {
  const EndpointSlice pattern = PatternFor(service, family);
  std::vector<PortGroup> groups;
  for (const Backend& backend : backends)
    GroupOf(groups, SlicePortsOf(backend.ports))
        .endpoints.push_back(EndpointOf(service, backend, ctx.lister<Node>()));
  AllotByTopology(service, family, groups, hints, ctx);
  // A Service without pods has one empty slice, so that clients that wait for it see that it was processed.
  if (groups.empty()) groups.emplace_back();
  SlicePlan own;
  for (const SlicePtr& slice : existing) {
    PortGroup* home = nullptr;
    for (PortGroup& group : groups)
      if (group.ports == slice->ports) home = &group;
    if (home)
      home->slices.push_back(slice);
    else
      own.remove.push_back(slice);
  }
  for (PortGroup& group : groups) {
    EndpointSlice like = pattern;
    like.ports = group.ports;
    PlanSlices(group.slices, like, std::move(group.endpoints), backends.empty(), own);
  }
  Recycle(own);
  plan.Append(std::move(own));
}

// Omits pods whose node does not exist, unless the Service wants every address, and adds a message about
// them.
void DropThoseWithoutNode(const Service& service, const Lister<Node>& nodes, std::vector<Backend>& backends,
                          std::set<std::string>& dropped) {
  if (service.spec.publish_not_ready_addresses) return;
  std::erase_if(backends, [&](const Backend& backend) {
    const std::string& node = backend.pod->spec.node_name;
    if (nodes.Get(node)) return false;
    dropped.insert("skipping Pod " + backend.pod->metadata.name + " for Service " +
                   service.metadata.namespace_ + "/" + service.metadata.name + ": Node " + node +
                   " Not Found");
    return true;
  });
}

void ReportDropped(const Service& service, const std::set<std::string>& dropped, Context& ctx) {
  if (dropped.empty()) return;
  std::string text;
  for (const std::string& line : dropped) text += (text.empty() ? "" : ", ") + line;
  if (dropped.size() > 1) text = "[" + text + "]";
  ctx.recorder().Warning(service, "FailedToUpdateEndpointSlices",
                         "Error updating Endpoint Slices for Service " + service.metadata.namespace_ + "/" +
                             service.metadata.name + ": " + text);
}

// Plans the slices of all families; slices of a family that the Service does not have are deleted.
SlicePlan Plan(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods,
               std::vector<SlicePtr> existing, TopologyHints& hints, Context& ctx) {
  SlicePlan plan;
  std::set<std::string> dropped;
  // Slices of an earlier Service with this name must not be reused.
  const auto foreign = std::stable_partition(existing.begin(), existing.end(), [&](const SlicePtr& slice) {
    return IsControlledBy(*slice, service);
  });
  std::vector<SlicePtr> others(existing.begin(), foreign);
  plan.remove.assign(foreign, existing.end());
  for (const std::string& family : FamiliesOf(service)) {
    std::vector<Backend> backends = BackendsOf(service, pods, family);
    DropThoseWithoutNode(service, ctx.lister<Node>(), backends, dropped);
    std::vector<SlicePtr> own;
    std::erase_if(others, [&](const SlicePtr& slice) {
      if (slice->address_type != family) return false;
      own.push_back(slice);
      return true;
    });
    PlanFamily(service, family, backends, own, hints, ctx, plan);
  }
  for (SlicePtr& slice : others) plan.remove.push_back(std::move(slice));
  ReportDropped(service, dropped, ctx);
  return plan;
}

// State about Services that is kept between reconciles.
struct SliceMemory {
  TriggerTimes triggers;
  TopologyHints hints;
};

Result<Action> ReconcileEndpointslice(const ObjectKey& key, SliceMemory& memory, Context& ctx) {
  const auto service = ctx.lister<Service>().Get(key);
  // The garbage collector removes the slices of a Service that is gone.
  if (!service) {
    memory.triggers.Forget(key);
    memory.hints.Forget(key);
  }
  // Without a selector, the user manages the slices; those from before it became an ExternalName are left as
  // well.
  if (!service || IsDeleting(service->metadata) || !HasBackends(*service)) return Done();
  std::vector<SlicePtr> existing = ctx.lister<EndpointSlice>().ByIndex(kServiceIndex, key.ToString());
  std::erase_if(existing, [](const SlicePtr& slice) { return IsDeleting(slice->metadata); });
  const auto pods = PodsBehind(*service, ctx.lister<Pod>());
  const auto triggered = memory.triggers.Update(*service, pods);
  SlicePlan plan = Plan(*service, pods, std::move(existing), memory.hints, ctx);
  for (EndpointSlice& slice : plan.create) NoteTriggerTime(slice.metadata, triggered);
  for (EndpointSlice& slice : plan.update) NoteTriggerTime(slice.metadata, triggered);
  FLYBALL_TRY(Execute(plan, ctx.client()));
  return Done();
}

// A node that appears, disappears or moves to another zone changes the endpoints of its pods. Every change of
// its share of the zone changes the allocation of Services that request hints.
std::vector<ObjectKey> ServicesConcerned(const Lister<Service>& services, const Lister<Pod>& pods,
                                         const Node& node) {
  std::vector<ObjectKey> keys;
  for (const auto& pod : PodsOnNode(pods, node.metadata.name))
    for (ObjectKey& key : ServicesOf(services, *pod)) keys.push_back(std::move(key));
  for (const auto& service : services.List())
    if (WantsTopologyHints(*service)) keys.push_back({service->metadata.namespace_, service->metadata.name});
  return keys;
}

}  // namespace

Status AddEndpointSliceController(Manager& manager, int workers) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  const auto services = manager.informers().For<Service>().lister();
  const auto pods = manager.informers().For<Pod>().lister();
  const auto memory = std::make_shared<SliceMemory>();
  Predicates<Node> place_changed;
  place_changed.update = &TopologyChanged;
  return manager.For<Service>()
      .Named("endpointslice-controller")
      .EventSource("endpoint-slice-controller")
      .Index<EndpointSlice>(kServiceIndex,
                            [](const EndpointSlice& slice) { return ServiceIndexOf(slice, kSliceManager); })
      .Watches<Pod>([services](const Pod& pod) { return ServicesOf(services, pod); }, EndpointChanged())
      .Watches<EndpointSlice>([](const EndpointSlice& slice) { return ServiceOf(slice, kSliceManager); })
      .Watches<Node>([=](const Node& node) { return ServicesConcerned(services, pods, node); }, place_changed)
      .Workers(workers)
      .Reconcile(
          [memory](const ObjectKey& key, Context& ctx) { return ReconcileEndpointslice(key, *memory, ctx); });
}

}  // namespace flyball::controllers
