#include "controllers/endpoints/endpointslice_controller.h"

#include <map>
#include <utility>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "controller/owner.h"
#include "controllers/endpoints/service_backends.h"
#include "controllers/endpoints/slice_plan.h"
#include "controllers/endpoints/trigger_times.h"
#include "controllers/objects/pod_node_index.h"

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
  endpoint.addresses = {backend.address};
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

// The slices of one address family.
void PlanFamily(const Service& service, const std::string& family, const std::vector<Backend>& backends,
                const std::vector<SlicePtr>& existing, const Lister<Node>& nodes, SlicePlan& plan) {
  const EndpointSlice pattern = PatternFor(service, family);
  std::vector<PortGroup> groups;
  for (const Backend& backend : backends)
    GroupOf(groups, PortsOf(backend)).endpoints.push_back(EndpointOf(backend, nodes));
  // A Service without pods has one empty slice: whoever waits for it sees that it was looked at.
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

// Pods whose node is not there are left out, unless the Service wants every address; the names of those.
std::vector<std::string> DropThoseWithoutNode(const Service& service, const Lister<Node>& nodes,
                                              std::vector<Backend>& backends) {
  std::vector<std::string> dropped;
  if (service.spec.publish_not_ready_addresses) return dropped;
  std::erase_if(backends, [&](const Backend& backend) {
    const std::string& node = backend.pod->spec.node_name;
    if (nodes.Get(node)) return false;
    dropped.push_back("skipping Pod " + backend.pod->metadata.name + " for Service " +
                      service.metadata.namespace_ + "/" + service.metadata.name + ": Node " + node +
                      " Not Found");
    return true;
  });
  return dropped;
}

void ReportDropped(const Service& service, const std::vector<std::string>& dropped, Context& ctx) {
  if (dropped.empty()) return;
  std::string text;
  for (const std::string& line : dropped) text += (text.empty() ? "" : ", ") + line;
  if (dropped.size() > 1) text = "[" + text + "]";
  ctx.recorder().Warning(service, "FailedToUpdateEndpointSlices",
                         "Error updating Endpoint Slices for Service " + service.metadata.namespace_ + "/" +
                             service.metadata.name + ": " + text);
}

// What to do about the slices of all families; those of a family the Service does not have go.
SlicePlan Plan(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods,
               const std::vector<SlicePtr>& existing, Context& ctx) {
  SlicePlan plan;
  std::vector<SlicePtr> others = existing;
  for (const std::string& family : FamiliesOf(service)) {
    std::vector<Backend> backends = BackendsOf(service, pods, family);
    ReportDropped(service, DropThoseWithoutNode(service, ctx.lister<Node>(), backends), ctx);
    std::vector<SlicePtr> own;
    std::erase_if(others, [&](const SlicePtr& slice) {
      if (slice->address_type != family) return false;
      own.push_back(slice);
      return true;
    });
    PlanFamily(service, family, backends, own, ctx.lister<Node>(), plan);
  }
  for (SlicePtr& slice : others) plan.remove.push_back(std::move(slice));
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

Result<Action> ReconcileEndpointslice(const ObjectKey& key, TriggerTimes& triggers, Context& ctx) {
  const auto service = ctx.lister<Service>().Get(key);
  // The slices of a Service that is gone are garbage, and collected as such.
  if (!service) triggers.Forget(key);
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
  const auto pods = PodsBehind(*service, ctx.lister<Pod>());
  const auto triggered = triggers.Update(*service, pods);
  SlicePlan plan = Plan(*service, pods, existing, ctx);
  for (EndpointSlice& slice : plan.create) NoteTriggerTime(slice.metadata, triggered);
  for (EndpointSlice& slice : plan.update) NoteTriggerTime(slice.metadata, triggered);
  FLYBALL_TRY(Execute(plan, ctx.client()));
  return Done();
}

// A node that comes, goes or moves to another zone changes what is said of its pods.
Predicates<Node> PlaceChanged() {
  Predicates<Node> predicates;
  predicates.update = [](const Node& before, const Node& now) {
    const auto zone = [](const Node& node) {
      const auto found = node.metadata.labels.find(kZoneLabel);
      return found == node.metadata.labels.end() ? std::string() : found->second;
    };
    return zone(before) != zone(now);
  };
  return predicates;
}

}  // namespace

Status AddEndpointSliceController(Manager& manager, int workers) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  const auto services = manager.informers().For<Service>().lister();
  const auto pods = manager.informers().For<Pod>().lister();
  const auto triggers = std::make_shared<TriggerTimes>();
  return manager.For<Service>()
      .Named("endpointslice-controller")
      .EventSource("endpoint-slice-controller")
      .Index<EndpointSlice>(kServiceIndex,
                            [](const EndpointSlice& slice) {
                              std::vector<std::string> values;
                              for (const ObjectKey& key : ServiceOf(slice)) values.push_back(key.ToString());
                              return values;
                            })
      .Watches<Pod>([services](const Pod& pod) { return ServicesOf(services, pod); }, EndpointChanged())
      .Watches<EndpointSlice>(&ServiceOf)
      .Watches<Node>(
          [services, pods](const Node& node) {
            std::vector<ObjectKey> keys;
            for (const auto& pod : PodsOnNode(pods, node.metadata.name))
              for (ObjectKey& key : ServicesOf(services, *pod)) keys.push_back(std::move(key));
            return keys;
          },
          PlaceChanged())
      .Workers(workers)
      .Reconcile([triggers](const ObjectKey& key, Context& ctx) {
        return ReconcileEndpointslice(key, *triggers, ctx);
      });
}

}  // namespace flyball::controllers
