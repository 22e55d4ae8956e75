#include "controllers/endpoints/endpoints_controller.h"

#include <map>
#include <utility>

#include "api/types/core.h"
#include "controllers/endpoints/service_backends.h"
#include "controllers/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kManagedBy[] = "endpoints.kubernetes.io/managed-by";
constexpr char kManager[] = "endpoint-controller";

EndpointAddress AddressOf(const Backend& backend) {
  EndpointAddress address;
  address.ip = backend.pod->status.pod_ip;
  address.hostname = backend.hostname;
  if (!backend.pod->spec.node_name.empty()) address.node_name = backend.pod->spec.node_name;
  address.target_ref = RefToPod(*backend.pod);
  return address;
}

// One subset for each set of ports that pods have: a named port may differ from pod to pod.
std::vector<EndpointSubset> SubsetsOf(const Service& service, const std::vector<Backend>& backends) {
  std::map<std::vector<BackendPort>, EndpointSubset> by_ports;
  for (const Backend& backend : backends) {
    if (backend.terminating && !service.spec.publish_not_ready_addresses) continue;
    if (backend.ports.empty() && !service.spec.ports.empty()) continue;
    EndpointSubset& subset = by_ports[backend.ports];
    (backend.ready ? subset.addresses : subset.not_ready_addresses).push_back(AddressOf(backend));
  }
  std::vector<EndpointSubset> subsets;
  for (auto& [ports, subset] : by_ports) {
    for (const BackendPort& port : ports) {
      EndpointPort out;
      out.name = port.name;
      out.port = port.port;
      out.protocol = port.protocol;
      out.app_protocol = port.app_protocol;
      subset.ports.push_back(std::move(out));
    }
    subsets.push_back(std::move(subset));
  }
  return subsets;
}

Result<Action> Written(const Result<Endpoints>& written) {
  if (written || written.error().HasCause("NamespaceTerminating")) return Done();
  return Unexpected(written.error());
}

Result<Action> ReconcileEndpoints(const ObjectKey& key, Context& ctx) {
  const auto service = ctx.lister<Service>().Get(key);
  const auto known = ctx.lister<Endpoints>().Get(key);
  if (!service) {
    // Only those we made: Endpoints without a Service may be somebody's own.
    if (!known || !known->metadata.labels.contains(kManagedBy)) return Done();
    const Status deleted = ctx.client().Delete(*known);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
    return Done();
  }
  if (!HasBackends(*service)) return Done();
  Endpoints wanted = known ? *known : Endpoints{};
  wanted.metadata.name = key.name;
  wanted.metadata.namespace_ = key.ns;
  wanted.metadata.labels = service->metadata.labels;
  wanted.metadata.labels[kManagedBy] = kManager;
  if (IsHeadless(*service)) wanted.metadata.labels[kHeadlessLabel] = "";
  wanted.subsets = SubsetsOf(*service, BackendsOf(*service, ctx.lister<Pod>()));
  if (!known) return Written(ctx.client().Create(wanted));
  if (wanted == *known) return Done();
  return Written(ctx.client().Update(wanted));
}

}  // namespace

Status AddEndpointsController(Manager& manager, int workers) {
  const auto services = manager.informers().For<Service>().lister();
  return manager.For<Service>()
      .Named("endpoints-controller")
      .Watches<Pod>([services](const Pod& pod) { return ServicesOf(services, pod); }, EndpointChanged())
      .Watches<Endpoints>([](const Endpoints& endpoints) {
        return std::vector{ObjectKey{endpoints.metadata.namespace_, endpoints.metadata.name}};
      })
      .Workers(workers)
      .Reconcile(&ReconcileEndpoints);
}

}  // namespace flyball::controllers
