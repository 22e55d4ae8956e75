#include "node/node_agent.h"

#include "api/types/coordination.h"
#include "base/log.h"
#include "node/machine.h"

namespace flyball::node {
namespace {

// The kubelet's: a lease of 40 s renewed every 10, a status at least every 5 minutes.
constexpr int kLeaseSeconds = 40;
constexpr Duration kRenewInterval = std::chrono::seconds(10);
constexpr Duration kStatusInterval = std::chrono::minutes(5);
constexpr Duration kRetry = std::chrono::seconds(1);
constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";

}  // namespace

NodeAgent::NodeAgent(Client client, ContainerRuntime& runtime, NodeOptions options)
    : client_(std::move(client)),
      runtime_(runtime),
      options_(std::move(options)),
      events_(client_, "kubelet", options_.name),
      context_{client_, events_, runtime_, client_.runtime().executor, options_.name, options_.address},
      informers_(client_),
      pods_(informers_.For<Pod>(
          {.ns = "", .label_selector = "", .field_selector = "spec.nodeName=" + options_.name})) {}

NodeAgent::~NodeAgent() {
  Stop();
}

void NodeAgent::Start() {
  Register();
  registration_ = pods_.AddHandler({
      .on_add = [this](const std::shared_ptr<const Pod>& pod, bool) { OnPod(pod); },
      .on_update = [this](const std::shared_ptr<const Pod>&,
                          const std::shared_ptr<const Pod>& pod) { OnPod(pod); },
      .on_delete =
          [this](const std::shared_ptr<const Pod>& pod, bool) {
            MutexLock lock(mu_);
            const auto it = workers_.find(pod->metadata.uid);
            if (it != workers_.end()) it->second->Removed();
          },
  });
  informers_.Start();
}

void NodeAgent::Stop() {
  if (!alive_->exchange(false)) return;
  informers_.Stop();
}

void NodeAgent::Register() {
  Node node;
  node.metadata.name = options_.name;
  node.metadata.labels = {{"kubernetes.io/hostname", options_.name},
                          {"kubernetes.io/os", "linux"},
                          {"kubernetes.io/arch", ReadSystemInfo("").architecture},
                          {"beta.kubernetes.io/os", "linux"},
                          {"beta.kubernetes.io/arch", ReadSystemInfo("").architecture}};
  for (const auto& [key, value] : options_.labels) node.metadata.labels[key] = value;
  client_.Of<Node>().CreateAsync(ToJson(node), {}, [this, alive = alive_](Result<json::Value> outcome) {
    if (!*alive) return;
    const bool there = outcome || outcome.error().Is(Reason::kAlreadyExists);
    if (!there) log::Warning("the node could not be registered", {{"error", outcome.error().message()}});
    context_.executor.PostAfter(there ? Duration{} : kRetry, [this, alive, there] {
      if (!*alive) return;
      if (!there) return Register();
      UpdateNodeStatus();
      RenewLease();
    });
  });
}

// The status, and the taint that admission gives new nodes: where a node lifecycle controller runs it would
// take the taint away as well; without one the node does it itself, so that pods can be placed.
void NodeAgent::UpdateNodeStatus() {
  NodeStatus status;
  status.capacity = status.allocatable = ReadCapacity(options_.max_pods);
  status.conditions = HealthyConditions(client_.runtime().clock().Now());
  status.addresses = {NodeAddress{"InternalIP", options_.address}, NodeAddress{"Hostname", options_.name}};
  status.daemon_endpoints.kubelet_endpoint.port = options_.log_port;
  status.node_info = ReadSystemInfo(runtime_.name());
  json::Value patch = json::Object{{"status", ToJson(status)}};
  client_.Of<Node>().PatchAsync(
      "", options_.name, PatchType::kStrategicMerge, patch, {.subresource = "status"},
      [this, alive = alive_](Result<json::Value> outcome) {
        if (!*alive) return;
        const bool missing = !outcome && outcome.error().Is(Reason::kNotFound);
        context_.executor.PostAfter(outcome ? kStatusInterval : kRetry, [this, alive, missing] {
          if (!*alive) return;
          if (missing) return Register();
          UpdateNodeStatus();
        });
        if (!outcome || (*outcome)["spec"]["taints"].empty()) return;
        json::Array kept;
        for (const auto& taint : (*outcome)["spec"]["taints"].as_array())
          if (taint["key"].string_or("") != kNotReadyTaint) kept.push_back(taint);
        if (kept.size() == (*outcome)["spec"]["taints"].size()) return;
        json::Value untaint = json::Object{{"spec", json::Object{{"taints", std::move(kept)}}}};
        client_.Of<Node>().PatchAsync("", options_.name, PatchType::kMerge, untaint, {},
                                      [](Result<json::Value>) {});
      });
}

void NodeAgent::RenewLease() {
  Lease lease;
  lease.metadata.name = options_.name;
  lease.metadata.namespace_ = "kube-node-lease";
  lease.spec.holder_identity = options_.name;
  lease.spec.lease_duration_seconds = kLeaseSeconds;
  lease.spec.renew_time = api::Time::From(client_.runtime().clock().Now());
  const auto again = [this, alive = alive_] {
    context_.executor.PostAfter(kRenewInterval, [this, alive] {
      if (*alive) RenewLease();
    });
  };
  json::Value patch = json::Object{{"spec", ToJson(lease.spec)}};
  client_.Of<Lease>().PatchAsync(lease.metadata.namespace_, options_.name, PatchType::kMerge, patch, {},
                                 [this, again, alive = alive_, lease](Result<json::Value> outcome) {
                                   if (!*alive) return;
                                   if (outcome || !outcome.error().Is(Reason::kNotFound)) return again();
                                   client_.Of<Lease>().CreateAsync(ToJson(lease), {},
                                                                   [again](Result<json::Value>) { again(); });
                                 });
}

void NodeAgent::OnPod(const std::shared_ptr<const Pod>& pod) {
  MutexLock lock(mu_);
  auto& worker = workers_[pod->metadata.uid];
  if (worker) {
    worker->Update(pod);
    return;
  }
  worker = std::make_shared<PodWorker>(context_, pod, [this, alive = alive_, uid = pod->metadata.uid] {
    if (*alive) OnGone(uid);
  });
  worker->Start();
}

void NodeAgent::OnGone(const std::string& uid) {
  MutexLock lock(mu_);
  workers_.erase(uid);
}

Result<std::string> NodeAgent::LogFile(const std::string& namespace_name, const std::string& pod_name,
                                       const std::string& container, bool previous) const {
  const auto pod = pods_.lister().Get(namespace_name, pod_name);
  if (!pod)
    return Unexpected(
        Error(Reason::kNotFound, "pod \"" + pod_name + "\" is not on node \"" + options_.name + "\""));
  int attempt = 0;
  for (const auto& list : {pod->status.container_statuses, pod->status.init_container_statuses})
    for (const auto& status : list)
      if (status.name == container) {
        attempt = status.restart_count;
        // While it waits to be started again its newest output is that of the run before.
        if (status.state.waiting && attempt > 0) --attempt;
      }
  if (previous && attempt == 0)
    return Unexpected(BadRequest("previous terminated container \"" + container + "\" in pod \"" + pod_name +
                                 "\" not found"));
  const auto path = runtime_.LogPath(pod->metadata.uid, container, previous ? attempt - 1 : attempt);
  if (path.empty())
    return Unexpected(BadRequest("the " + runtime_.name() + " runtime keeps no logs: nothing runs in it"));
  return path;
}

}  // namespace flyball::node
