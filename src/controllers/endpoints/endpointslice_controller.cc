#include "controllers/endpoints/endpointslice_controller.h"

#include <map>
#include <utility>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "controller/owner.h"
#include "controllers/endpoints/service_backends.h"
#include "controllers/endpoints/slice_plan.h"

namespace flyball::controllers {
namespace {

constexpr char kServiceName[] = "kubernetes.io/service-name";
constexpr char kSliceManagedBy[] = "endpointslice.kubernetes.io/managed-by";
constexpr char kSliceManager[] = "endpointslice-controller.k8s.io";
constexpr char kServiceIndex[] = "service";
constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";

using SlicePtr = std::shared_ptr<const EndpointSlice>;
using Ports = std::vector<EndpointSlicePort>;

std::vector<ObjectKey> ServiceOf(const EndpointSlice& slice) {
  const auto managed = slice.metadata.labels.find(kSliceManagedBy);
  if (managed == slice.metadata.labels.end() || managed->second != kSliceManager) return {};
  const auto service = slice.metadata.labels.find(kServiceName);
  if (service == slice.metadata.labels.end()) return {};
  return {ObjectKey{slice.metadata.namespace_, service->second}};
}

EndpointSlice PatternFor(const Service& service) {
  EndpointSlice slice;
  slice.metadata = ChildOf(service);
  slice.metadata.name.clear();
  slice.metadata.generate_name = service.metadata.name + "-";
  slice.metadata.labels = service.metadata.labels;
  slice.metadata.labels[kServiceName] = service.metadata.name;
  slice.metadata.labels[kSliceManagedBy] = kSliceManager;
  if (IsHeadless(service)) slice.metadata.labels[kHeadlessLabel] = "";
  const bool v6 = !service.spec.ip_families.empty() && service.spec.ip_families[0] == "IPv6";
  slice.address_type = v6 ? "IPv6" : "IPv4";
  return slice;
}

Ports PortsOf(const Backend& backend) {
  Ports ports;
  for (const BackendPort& port : backend.ports) {
    EndpointSlicePort out;
    out.name = port.name;
    out.protocol = port.protocol;
    out.port = port.port;
    out.app_protocol = port.app_protocol;
    ports.push_back(std::move(out));
  }
  return ports;
}

Endpoint EndpointOf(const Backend& backend, const Lister<Node>& nodes) {
  const Pod& pod = *backend.pod;
  Endpoint endpoint;
  endpoint.addresses = {pod.status.pod_ip};
  endpoint.conditions.ready = backend.ready;
  endpoint.conditions.serving = backend.serving;
  endpoint.conditions.terminating = backend.terminating;
  endpoint.target_ref = RefToPod(pod);
  if (!backend.hostname.empty()) endpoint.hostname = backend.hostname;
  if (pod.spec.node_name.empty()) return endpoint;
  endpoint.node_name = pod.spec.node_name;
  if (const auto node = nodes.Get(pod.spec.node_name))
    if (const auto zone = node->metadata.labels.find(kZoneLabel); zone != node->metadata.labels.end())
      endpoint.zone = zone->second;
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

SlicePlan Plan(const Service& service, const std::vector<Backend>& backends,
               const std::vector<SlicePtr>& existing, const Lister<Node>& nodes) {
  const EndpointSlice pattern = PatternFor(service);
  std::vector<PortGroup> groups;
  for (const Backend& backend : backends)
    GroupOf(groups, PortsOf(backend)).endpoints.push_back(EndpointOf(backend, nodes));
  // A Service without pods has one empty slice: whoever waits for it sees that it was looked at.
  if (groups.empty()) groups.emplace_back();
  SlicePlan plan;
  for (const SlicePtr& slice : existing) {
    const bool usable = slice->address_type == pattern.address_type;
    PortGroup* home = nullptr;
    for (PortGroup& group : groups)
      if (usable && group.ports == slice->ports) home = &group;
    if (home)
      home->slices.push_back(slice);
    else
      plan.remove.push_back(slice);
  }
  for (PortGroup& group : groups) {
    EndpointSlice like = pattern;
    like.ports = group.ports;
    PlanSlices(group.slices, like, std::move(group.endpoints), backends.empty(), plan);
  }
  return plan;
}

Status Execute(const SlicePlan& plan, const Client& client) {
  for (const EndpointSlice& slice : plan.create) {
    const auto made = client.Create(slice);
    if (!made && !made.error().HasCause("NamespaceTerminating")) return Unexpected(made.error());
  }
  for (const EndpointSlice& slice : plan.update) FLYBALL_TRY(client.Update(slice));
  for (const SlicePtr& slice : plan.remove) {
    const Status deleted = client.Delete(*slice);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  }
  return {};
}

Result<Action> ReconcileEndpointslice(const ObjectKey& key, Context& ctx) {
  const auto service = ctx.lister<Service>().Get(key);
  // The slices of a Service that is gone are garbage, and collected as such.
  if (!service || IsDeleting(service->metadata)) return Done();
  std::vector<SlicePtr> existing = ctx.lister<EndpointSlice>().ByIndex(kServiceIndex, key.ToString());
  std::erase_if(existing, [](const SlicePtr& slice) { return IsDeleting(slice->metadata); });
  if (!HasBackends(*service)) {
    // Without a selector the slices are the user's business; an ExternalName has none.
    if (service->spec.type != "ExternalName") return Done();
    SlicePlan none;
    none.remove = existing;
    FLYBALL_TRY(Execute(none, ctx.client()));
    return Done();
  }
  const std::vector<Backend> backends = BackendsOf(*service, ctx.lister<Pod>());
  FLYBALL_TRY(Execute(Plan(*service, backends, existing, ctx.lister<Node>()), ctx.client()));
  return Done();
}

}  // namespace

Status AddEndpointSliceController(Manager& manager, int workers) {
  const auto services = manager.informers().For<Service>().lister();
  return manager.For<Service>()
      .Named("endpointslice-controller")
      .Index<EndpointSlice>(kServiceIndex,
                            [](const EndpointSlice& slice) {
                              std::vector<std::string> values;
                              for (const ObjectKey& key : ServiceOf(slice)) values.push_back(key.ToString());
                              return values;
                            })
      .Watches<Pod>([services](const Pod& pod) { return ServicesOf(services, pod); }, EndpointChanged())
      .Watches<EndpointSlice>(&ServiceOf)
      .Uses<Node>()
      .Workers(workers)
      .Reconcile(&ReconcileEndpointslice);
}

}  // namespace flyball::controllers
