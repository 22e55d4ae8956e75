#include "controllers/endpoints/endpoints_controller.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "api/types/core.h"
#include "controller/pods/pod_state.h"
#include "controllers/endpoints/service_backends.h"
#include "controllers/endpoints/subsets.h"
#include "controllers/endpoints/trigger_times.h"

namespace flyball::controllers {
namespace {

constexpr char kManagedBy[] = "endpoints.kubernetes.io/managed-by";
constexpr char kManager[] = "endpoint-controller";
constexpr char kOverCapacity[] = "endpoints.kubernetes.io/over-capacity";
// The most addresses in one object (upstream: maxCapacity).
constexpr std::size_t kMaxAddresses = 1000;

EndpointAddress AddressOf(const Backend& backend) {
  EndpointAddress address;
  address.ip = backend.address;
  address.hostname = backend.hostname;
  // Set even if the pod has no node; the server then rejects it, because an address without a node belongs to
  // nobody.
  address.node_name = backend.pod->spec.node_name;
  address.target_ref = RefToPod(*backend.pod);
  return address;
}

std::vector<EndpointSubset> SubsetsOf(const Service& service, const std::vector<Backend>& backends) {
  std::vector<EndpointSubset> each;
  for (const Backend& backend : backends) {
    if (backend.terminating && !service.spec.publish_not_ready_addresses) continue;
    if (backend.ports.empty() && !service.spec.ports.empty()) continue;
    EndpointSubset& subset = each.emplace_back();
    (backend.ready ? subset.addresses : subset.not_ready_addresses).push_back(AddressOf(backend));
    subset.ports = backend.ports;
  }
  return RepackSubsets(each);
}

// Removes addresses beyond the limit, not ready ones first, proportionally from each subset. Returns true if
// there were too many.
bool CutToCapacity(std::vector<EndpointSubset>& subsets) {
  std::size_t ready = 0, not_ready = 0;
  for (const EndpointSubset& subset : subsets) {
    ready += subset.addresses.size();
    not_ready += subset.not_ready_addresses.size();
  }
  if (ready + not_ready <= kMaxAddresses) return false;
  const bool cut_ready = ready > kMaxAddresses;
  const std::size_t most = cut_ready ? kMaxAddresses : kMaxAddresses - ready;
  const std::size_t total = cut_ready ? ready : not_ready;
  std::size_t left = most;
  for (EndpointSubset& subset : subsets) {
    if (cut_ready) subset.not_ready_addresses.clear();
    auto& list = cut_ready ? subset.addresses : subset.not_ready_addresses;
    const double share = static_cast<double>(list.size()) / static_cast<double>(total);
    const auto kept = std::min(left, static_cast<std::size_t>(std::ceil(share * static_cast<double>(most))));
    list.resize(std::min(list.size(), kept));
    left -= list.size();
  }
  std::erase_if(subsets, [](const EndpointSubset& subset) {
    return subset.addresses.empty() && subset.not_ready_addresses.empty();
  });
  return true;
}

Endpoints WantedFor(const Service& service, const Endpoints& known,
                    const std::vector<std::shared_ptr<const Pod>>& pods) {
  Endpoints wanted = known;
  wanted.metadata.name = service.metadata.name;
  wanted.metadata.namespace_ = service.metadata.namespace_;
  wanted.metadata.labels = service.metadata.labels;
  wanted.metadata.labels[kManagedBy] = kManager;
  wanted.metadata.labels.erase(kHeadlessLabel);
  if (IsHeadless(service)) wanted.metadata.labels[kHeadlessLabel] = "";
  wanted.subsets = SubsetsOf(service, BackendsOf(service, pods, FamiliesOf(service)[0]));
  if (CutToCapacity(wanted.subsets))
    wanted.metadata.annotations[kOverCapacity] = "truncated";
  else
    wanted.metadata.annotations.erase(kOverCapacity);
  return wanted;
}

Result<Action> DeleteOf(const Endpoints& endpoints, Context& ctx) {
  if (endpoints.metadata.annotations.contains(kLeaderRecord)) return Done();
  const Status deleted = ctx.client().Delete(endpoints);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  return Done();
}

Result<Action> Write(const Endpoints& wanted, bool exists, Context& ctx) {
  const auto written = exists ? ctx.client().Update(wanted) : ctx.client().Create(wanted);
  if (written || written.error().HasCause("NamespaceTerminating")) return Done();
  const std::string& message = written.error().message();
  const std::string name = ctx.key().ToString();
  // An object that does not exist yet has only a name.
  const EventTarget unmade{KindRefOf<Endpoints>(), "", wanted.metadata.name, "", "", ""};
  if (exists)
    ctx.recorder().Warning(wanted, "FailedToUpdateEndpoint",
                           "Failed to update endpoint " + name + ": " + message);
  else
    ctx.recorder().Warning(unmade, "FailedToCreateEndpoint",
                           "Failed to create endpoint for service " + name + ": " + message);
  return Unexpected(written.error());
}

Result<Action> ReconcileEndpoints(const ObjectKey& key, TriggerTimes& triggers, Context& ctx) {
  const auto service = ctx.lister<Service>().Get(key);
  const auto known = ctx.lister<Endpoints>().Get(key);
  if (!service) {
    triggers.Forget(key);
    return known ? DeleteOf(*known, ctx) : Done();
  }
  if (!HasBackends(*service)) return Done();
  const auto pods = PodsBehind(*service, ctx.lister<Pod>());
  const auto triggered = triggers.Update(*service, pods);
  Endpoints wanted = WantedFor(*service, known ? *known : Endpoints{}, pods);
  if (known && wanted == *known) return Done();
  NoteTriggerTime(wanted.metadata, triggered);
  return Write(wanted, known != nullptr, ctx);
}

// Only our own Endpoints matter while they exist; Endpoints without a Service may belong to someone else.
// Manual changes to ours stay until the Service or a pod changes, as upstream.
Predicates<Endpoints> OursOrGone() {
  const auto ours = [](const Endpoints& endpoints) { return endpoints.metadata.labels.contains(kManagedBy); };
  Predicates<Endpoints> predicates;
  predicates.create = ours;
  predicates.update = [](const Endpoints&, const Endpoints&) { return false; };
  return predicates;
}

}  // namespace

Status AddEndpointsController(Manager& manager, int workers) {
  const auto services = manager.informers().For<Service>().lister();
  const auto triggers = std::make_shared<TriggerTimes>();
  return manager.For<Service>()
      .Named("endpoints-controller")
      .EventSource("endpoint-controller")
      .Watches<Pod>([services](const Pod& pod) { return ServicesOf(services, pod); }, EndpointChanged())
      .Watches<Endpoints>(
          [](const Endpoints& endpoints) {
            return std::vector{ObjectKey{endpoints.metadata.namespace_, endpoints.metadata.name}};
          },
          OursOrGone())
      .Workers(workers)
      .Reconcile(
          [triggers](const ObjectKey& key, Context& ctx) { return ReconcileEndpoints(key, *triggers, ctx); });
}

}  // namespace flyball::controllers
