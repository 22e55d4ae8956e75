#include "node/agent/node_agent_core.h"

#include "api/types/coordination.h"
#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "json/json.h"
#include "node/pod/service_variables.h"

namespace flyball::node {
namespace {

constexpr char kNotReadyTaint[] = "node.kubernetes.io/not-ready";
constexpr char kLeaseNamespace[] = "kube-node-lease";
constexpr char kManagedAttachAnnotation[] = "volumes.kubernetes.io/controller-managed-attach-detach";

std::unique_ptr<NodePlugins> PluginsOf(const Client& client, ContainerRuntime& runtime,
                                       const NodeAgentOptions& options) {
  if (options.root_dir.empty() || runtime.volumes_folder().empty() || !runtime.executor()) return nullptr;
  const std::string& staging = options.staging_root;
  return std::make_unique<NodePlugins>(
      client,
      NodePluginsOptions{options.name, options.root_dir, staging.empty() ? options.root_dir : staging},
      *runtime.executor(), EventRecorder(client, "kubelet", options.name));
}

std::vector<std::string> AddressesOf(const NodeAgentOptions& options) {
  std::vector<std::string> addresses{options.address};
  addresses.insert(addresses.end(), options.further_addresses.begin(), options.further_addresses.end());
  return addresses;
}

}  // namespace

NodeAgent::Core::Core(Client client, ContainerRuntime& runtime, NodeAgentOptions options, int port)
    : options_(std::move(options)),
      description_{.name = options_.name,
                   .addresses = AddressesOf(options_),
                   .port = port,
                   .capacity = options_.capacity,
                   .allocatable = AllocatableOf(options_.capacity, options_.reserved, options_.eviction),
                   .labels = options_.labels,
                   .runtime_version = std::string(runtime.version())},
      client_(std::move(client)),
      runtime_(runtime),
      plugins_(PluginsOf(client_, runtime_, options_)),
      context_(std::make_shared<WorkerContext>(WorkerContext{
          .client = client_,
          .runtime = runtime_,
          .strand = Strand(client_.runtime().executor),
          .blocking = client_.runtime().worker_executor(),
          .recorder = EventRecorder(client_, "kubelet", options_.name),
          .host_ips = description_.addresses,
          .volumes = runtime.volumes_folder().empty()
                         ? nullptr
                         : std::make_shared<PodVolumes>(
                               client_, runtime.volumes_folder(),
                               VolumeNode{options_.name, description_.addresses, description_.allocatable},
                               plugins_ ? plugins_->csi_volumes() : nullptr),
          .finished = {},
          .network = options_.network,
          .dns = options_.dns,
          .allocatable = description_.allocatable,
          .devices = plugins_ ? plugins_->devices() : nullptr})),
      strand_(context_->strand),
      ready_since_(api::Time::From(strand_.clock().Now())),
      networked_(!options_.network),
      serving_(!options_.wait_for_serving) {}

void NodeAgent::Core::OnStrand(UniqueFunction<void(Core&)> fn) {
  strand_.Post([weak = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = weak.lock(); self && !self->stopped_) fn(*self);
  });
}

void NodeAgent::Core::After(Duration delay, UniqueFunction<void(Core&)> fn) {
  strand_.PostAfter(delay, [weak = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = weak.lock(); self && !self->stopped_) fn(*self);
  });
}

void NodeAgent::Core::Start() {
  OnStrand([](Core& self) {
    if (std::exchange(self.running_, true)) return;
    self.context_->finished = [weak = self.weak_from_this()](const std::string& uid) {
      // Not at once: the worker that says so is still on the stack.
      if (const auto alive = weak.lock()) alive->OnStrand([uid](Core& core) { core.WorkerFinished(uid); });
    };
    self.context_->reject = [weak = self.weak_from_this()](const Pod& pod) {
      const auto alive = weak.lock();
      return alive ? alive->WhyNot(pod) : std::nullopt;
    };
    if (self.plugins_)
      self.plugins_->csi_volumes()->OnInUseChanged([weak = self.weak_from_this()] {
        if (const auto alive = weak.lock())
          alive->OnStrand([](Core& core) {
            if (!core.node_uid_.empty()) core.WriteStatus();
          });
      });
    if (self.plugins_)
      self.plugins_->devices()->OnChanged([weak = self.weak_from_this()] {
        if (const auto alive = weak.lock())
          alive->OnStrand([](Core& core) {
            if (!core.node_uid_.empty()) core.WriteStatus();
          });
      });
    self.node_ = self.CurrentNode();
    if (self.options_.static_pods.empty()) return self.Register();
    self.FollowStaticPods();
  });
}

void NodeAgent::Core::WorkerFinished(const std::string& uid) {
  const auto found = workers_.find(uid);
  if (found == workers_.end()) return;
  const PodPtr pod = found->second->pod_ptr();
  workers_.erase(found);
  if (IsStaticPod(*pod)) StaticPodFinished(pod);
}

std::optional<PodRejection> NodeAgent::Core::WhyNot(const Pod& pod) const {
  std::vector<PodPtr> others;
  for (const auto& [uid, worker] : workers_)
    if (uid != pod.metadata.uid && worker->active()) others.push_back(worker->pod_ptr());
  if (auto why = WhyNotUnderPressure(pod, pressure_.conditions())) return PodRejection{kEvictedReason, *why};
  if (!plugins_) return WhyRejected(pod, node_, others);
  // Whether there are devices is decided when they are allocated, as upstream does before it looks at the
  // rest.
  Node node = node_;
  for (const auto& [resource, amount] : plugins_->devices()->Capacity())
    node.status.allocatable.erase(resource);
  return WhyRejected(pod, node, others);
}

void NodeAgent::Core::Stop() {
  if (stopped_.exchange(true)) return;
  if (plugins_) plugins_->Stop();
  auto done = std::make_shared<Notification<bool>>();
  strand_.Post([self = shared_from_this(), done] {
    if (self->pods_) self->pods_->Remove();
    if (self->nodes_) self->nodes_->Remove();
    if (self->services_) self->services_->Remove();
    if (self->played_node_) self->played_node_->Remove();
    self->static_pod_files_.reset();
    for (const auto& player : self->players_) player->Stop();
    if (self->informers_) self->informers_->Stop();
    self->workers_.clear();
    self->context_->finished = nullptr;
    self->context_->reject = nullptr;
    self->context_->service_variables = nullptr;
    done->Set(true);
  });
  if (client_.runtime().may_block) done->Wait();
}

void NodeAgent::Core::OnReady(std::function<void()> fn) {
  OnStrand([fn = std::move(fn)](Core& self) {
    if (self.ready_)
      fn();
    else
      self.waiting_.push_back(fn);
  });
}

void NodeAgent::Core::OnRegistered(std::function<void()> fn) {
  OnStrand([fn = std::move(fn)](Core& self) {
    if (!self.node_uid_.empty())
      fn();
    else
      self.waiting_for_registration_.push_back(fn);
  });
}

void NodeAgent::Core::SetServing() {
  OnStrand([](Core& self) {
    if (std::exchange(self.serving_, true)) return;
    self.ready_since_ = api::Time::From(self.Now());
    if (!self.node_uid_.empty()) self.ReportStatus();
  });
}

Node NodeAgent::Core::CurrentNode() const {
  Node node = MakeNode(description_, Now());
  if (plugins_) node.metadata.annotations[kManagedAttachAnnotation] = "true";
  if (Plays("Node")) {  // how it is they say
    node.status.conditions.clear();
    return node;
  }
  SetPressureConditions(node);
  if (serving_ && networked_) return node;
  for (NodeCondition& condition : node.status.conditions)
    if (condition.type == "Ready") {
      condition.status = "False";
      condition.reason = "KubeletNotReady";
      condition.message = networked_
                              ? "the serving certificate has not been issued yet"
                              : "container runtime network not ready: " + options_.network->WhyNotReady();
    }
  return node;
}

void NodeAgent::Core::NowReady() {
  std::set<std::string> pods;
  for (const auto& [uid, worker] : workers_) pods.insert(uid);
  runtime_.KeepOnly(options_.name, pods);
  if (options_.network)
    context_->blocking.Post([network = options_.network, pods] { network->KeepOnly(pods); });
  if (plugins_) plugins_->devices()->KeepOnly(pods);
  if (Executor* const where = runtime_.executor(); where && context_->volumes)
    where->Post([volumes = context_->volumes, pods] { volumes->KeepOnly(pods); });
  ready_ = true;
  for (const auto& [key, pod] : static_pods_)
    if (!pod.mirror) CreateMirror(key);
  for (const auto& fn : std::exchange(waiting_, {})) fn();
}

void NodeAgent::Core::Register() {
  const Node node = CurrentNode();
  json::Value body = ToJson(node);
  SetTypeMeta(body, KindRefOf<Node>());
  client_.Of<Node>().CreateAsync(
      std::move(body), {}, [weak = weak_from_this()](const Result<json::Value>& result) {
        const auto self = weak.lock();
        if (!self) return;
        if (result) return self->OnStrand([node = *result](Core& core) { core.Registered(node); });
        if (result.error().Is(Reason::kAlreadyExists))
          return self->OnStrand([](Core& core) { core.Adopt(); });
        log::Warning("node not registered, will try again", {{"error", result.error().ToString()}});
        self->After(kRegisterRetry, [](Core& core) { core.Register(); });
      });
}

// The node was registered before: its labels and status become what they should be.
void NodeAgent::Core::Adopt() {
  const Node node = CurrentNode();
  json::Object labels;
  for (const auto& [key, value] : node.metadata.labels) labels.Set(key, value);
  json::Object annotations;
  for (const auto& [key, value] : node.metadata.annotations) annotations.Set(key, value);
  const json::Value patch = json::Object{
      {"metadata", json::Object{{"labels", std::move(labels)}, {"annotations", std::move(annotations)}}}};
  client_.Of<Node>().PatchAsync("", options_.name, PatchType::kMerge, patch, {},
                                [weak = weak_from_this()](const Result<json::Value>& result) {
                                  const auto self = weak.lock();
                                  if (!self) return;
                                  if (!result)
                                    return self->After(kRegisterRetry, [](Core& core) { core.Register(); });
                                  self->OnStrand([adopted = *result](Core& core) {
                                    core.ReportStatus();
                                    core.Registered(adopted);
                                  });
                                });
}

void NodeAgent::Core::Registered(const json::Value& node) {
  node_uid_ = node["metadata"]["uid"].string_or("");
  if (!FromJson(node, &node_)) node_ = CurrentNode();
  log::Info("node registered", {{"node", options_.name}});
  for (const auto& fn : std::exchange(waiting_for_registration_, {})) fn();
  if (!options_.shares_network_because.empty())
    context_->recorder.Warning(NodeTarget(options_.name), "PodsShareNodeNetwork",
                               "Pods have the network and address of this node (" +
                                   options_.shares_network_because +
                                   "): no two of them can have the same port, and Services and network "
                                   "policies have no effect");
  if (options_.remove_not_ready_taint) RemoveNotReadyTaint(node);
  if (plugins_) plugins_->Start(node_uid_);
  CreateLease();
  After(kStatusReport, [](Core& self) { self.ReportStatus(); });
  if (!informers_ && (runtime_.real() || !options_.eviction.empty())) {
    WatchPressure();
    After(kImageCollection, [](Core& self) { self.CollectImages(); });
  }
  WatchServices();
}

void NodeAgent::Core::RemoveNotReadyTaint(const json::Value& node) {
  const json::Value* taints = node["spec"].Find("taints");
  if (!taints || !taints->is_array()) return;
  json::Array kept;
  for (const json::Value& taint : taints->as_array())
    if (taint["key"].string_or("") != kNotReadyTaint) kept.push_back(taint);
  if (kept.size() == taints->as_array().size()) return;
  json::Object spec;
  spec.Set("taints", kept.empty() ? json::Value(nullptr) : json::Value(std::move(kept)));
  const json::Value patch = json::Object{{"spec", std::move(spec)}};
  client_.Of<Node>().PatchAsync("", options_.name, PatchType::kMerge, patch, {},
                                [](const Result<json::Value>& result) {
                                  if (!result && !result.error().Is(Reason::kForbidden))
                                    log::Warning("taint not removed", {{"error", result.error().ToString()}});
                                });
}

json::Value NodeAgent::Core::StatusPatch() {
  Node node = CurrentNode();
  for (NodeCondition& condition : node.status.conditions) {
    auto& [status, since] = transitions_[condition.type];
    if (status != condition.status)
      since = status.empty() || condition.type == "Ready" ? ready_since_ : api::Time::From(Now());
    status = condition.status;
    condition.last_transition_time = since;
  }
  json::Value status = ToJson(node.status);
  // Addresses are merged by type, of which two families have the same: the list is replaced (upstream:
  // fixupPatchForNodeStatusAddresses).
  if (json::Value* const addresses = status.as_object().Find("addresses"))
    addresses->as_array().push_back(json::Object{{"$patch", "replace"}});
  if (plugins_) {
    json::Array in_use;
    for (const std::string& name : plugins_->csi_volumes()->InUse()) in_use.emplace_back(name);
    AddDevices(status.as_object());
    status.as_object().Set("volumesInUse", in_use.empty() ? json::Value(nullptr) : json::Value(in_use));
  }
  return json::Object{{"status", std::move(status)}};
}

// What plugins have; null takes away what they had.
void NodeAgent::Core::AddDevices(json::Object& status) const {
  for (const auto& [resource, amount] : plugins_->devices()->Capacity())
    for (const char* list : {"capacity", "allocatable"}) {
      const bool all = std::string_view(list) == "capacity";
      json::Value value;
      if (amount) value = std::to_string(all ? amount->capacity : amount->allocatable);
      json::Value* const amounts = status.Find(list);
      if (amounts && amounts->is_object()) amounts->as_object().Set(resource, std::move(value));
    }
}

void NodeAgent::Core::ReportStatus() {
  if (Plays("Node")) return;
  WriteStatus();
  if (ready_) After(kStatusReport, [](Core& self) { self.ReportStatus(); });
}

void NodeAgent::Core::WriteStatus() {
  if (std::exchange(writing_status_, true)) {
    write_status_again_ = true;
    return;
  }
  client_.Of<Node>().PatchAsync(
      "", options_.name, PatchType::kStrategicMerge, StatusPatch(), {.subresource = "status"},
      [weak = weak_from_this()](const Result<json::Value>& result) {
        const auto self = weak.lock();
        if (!self) return;
        self->OnStrand([error = result ? std::nullopt : std::optional(result.error())](Core& core) {
          core.StatusWritten(error);
        });
      });
}

void NodeAgent::Core::StatusWritten(const std::optional<Error>& error) {
  writing_status_ = false;
  if (error) log::Warning("node status not written", {{"error", error->ToString()}});
  if (std::exchange(write_status_again_, false)) WriteStatus();
  // Somebody deleted the Node: it registers again, as kubelet does.
  if (error && error->Is(Reason::kNotFound)) Register();
}

void NodeAgent::Core::CreateLease() {
  const json::Value lease = json::Object{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata",
       json::Object{
           {"name", options_.name},
           {"namespace", kLeaseNamespace},
           {"ownerReferences",
            json::Array{json::Object{
                {"apiVersion", "v1"}, {"kind", "Node"}, {"name", options_.name}, {"uid", node_uid_}}}}}},
      {"spec", json::Object{{"holderIdentity", options_.name},
                            {"leaseDurationSeconds", kLeaseDurationSeconds},
                            {"renewTime", api::FormatMicroTime(Now())}}}};
  client_.Of<Lease>().CreateAsync(lease, {}, [weak = weak_from_this()](const Result<json::Value>& result) {
    const auto self = weak.lock();
    if (!self) return;
    // There already: renewing takes it over.
    const bool there = !result && result.error().Is(Reason::kAlreadyExists);
    self->After(there ? Duration::zero() : kLeaseRenewal, [](Core& core) { core.RenewLease(); });
  });
}

void NodeAgent::Core::RenewLease() {
  const json::Value patch = json::Object{
      {"spec", json::Object{{"holderIdentity", options_.name}, {"renewTime", api::FormatMicroTime(Now())}}}};
  client_.Of<Lease>().PatchAsync(kLeaseNamespace, options_.name, PatchType::kMerge, patch, {},
                                 [weak = weak_from_this()](const Result<json::Value>& result) {
                                   const auto self = weak.lock();
                                   if (!self) return;
                                   if (!result && result.error().Is(Reason::kNotFound))
                                     return self->OnStrand([](Core& core) { core.CreateLease(); });
                                   self->After(kLeaseRenewal, [](Core& core) { core.RenewLease(); });
                                 });
}

void NodeAgent::Core::WatchServices() {
  if (informers_) return;
  informers_ = std::make_unique<InformerFactory>(client_, FactoryOptions{.drop_managed_fields = true});
  if (!runtime_.real()) return WatchPods();
  const auto services = informers_->For<Service>();
  context_->service_variables = [lister = services.lister()](const Pod& pod) {
    return ServiceVariables(pod, lister.List());
  };
  services_ = services.AddHandler(EventHandler<Service>());
  services_->OnSynced([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnStrand([](Core& core) { core.WatchPods(); });
  });
  informers_->Start();
}

void NodeAgent::Core::WatchPods() {
  if (pods_) return;
  const auto weak = weak_from_this();
  const std::string mine = "spec.nodeName=" + options_.name;
  if (Plays("Node")) played_node_ = PlayStages(KindRefOf<Node>(), "metadata.name=" + options_.name);
  pods_ = Plays("Pod") ? PlayStages(KindRefOf<Pod>(), mine) : WorkOnPods(mine);
  if (options_.network) WatchNode();
  pods_->OnSynced([weak] {
    if (const auto self = weak.lock()) self->OnStrand([](Core& core) { core.NowReady(); });
  });
  informers_->Start();
}

std::shared_ptr<HandlerRegistration> NodeAgent::Core::WorkOnPods(const std::string& field_selector) {
  const auto weak = weak_from_this();
  const auto changed = [weak](const PodPtr& pod) {
    if (const auto self = weak.lock()) self->OnStrand([pod](Core& core) { core.PodChanged(pod); });
  };
  const auto gone = [weak](const PodPtr& pod) {
    if (const auto self = weak.lock()) self->OnStrand([pod](Core& core) { core.PodGone(pod); });
  };
  EventHandler<Pod> handler;
  handler.on_add = [changed](const PodPtr& pod, bool) { changed(pod); };
  handler.on_update = [changed, gone](const PodPtr& old_pod, const PodPtr& pod) {
    if (old_pod->metadata.uid != pod->metadata.uid) gone(old_pod);
    changed(pod);
  };
  handler.on_delete = [gone](const PodPtr& pod, bool) { gone(pod); };
  return informers_->For<Pod>({.field_selector = field_selector}).AddHandler(std::move(handler));
}

void NodeAgent::Core::WatchNode() {
  const auto look = [weak = weak_from_this()](const std::shared_ptr<const Node>& node) {
    const auto& cidrs = node->spec.pod_cidrs;
    if (cidrs.empty()) return;
    if (const auto self = weak.lock()) self->OnStrand([cidrs](Core& core) { core.UseCidrs(cidrs); });
  };
  EventHandler<Node> handler;
  handler.on_add = [look](const std::shared_ptr<const Node>& node, bool) { look(node); };
  handler.on_update = [look](const std::shared_ptr<const Node>&, const std::shared_ptr<const Node>& node) {
    look(node);
  };
  const auto nodes = informers_->For<Node>({.field_selector = "metadata.name=" + options_.name});
  nodes_ = nodes.AddHandler(std::move(handler));
  if (options_.network->has_cidrs()) AwaitNetwork();
}

void NodeAgent::Core::AwaitNetwork() {
  context_->blocking.Post([weak = weak_from_this(), network = options_.network] {
    const bool ready = network->WhyNotReady().empty();
    const auto self = weak.lock();
    if (self && ready) return self->OnStrand([](Core& core) { core.NetworkReady(); });
    if (self) self->After(kRegisterRetry, [](Core& core) { core.AwaitNetwork(); });
  });
}

void NodeAgent::Core::NetworkReady() {
  if (std::exchange(networked_, true)) return;
  ready_since_ = api::Time::From(Now());
  ReportStatus();
  for (const auto& [uid, worker] : workers_) worker->Resume();
}

// A range never changes: the first one counts.
void NodeAgent::Core::UseCidrs(const std::vector<std::string>& cidrs) {
  if (networked_) return;
  context_->blocking.Post([weak = weak_from_this(), network = options_.network, cidrs] {
    const Status used = network->UseCidrs(cidrs);
    const auto self = weak.lock();
    if (!self) return;
    if (!used) {
      log::Error("the network of pods cannot be set up, will try again",
                 {{"node", self->options_.name}, {"error", used.error().message()}});
      return self->After(kRegisterRetry, [cidrs](Core& core) { core.UseCidrs(cidrs); });
    }
    self->OnStrand([](Core& core) { core.NetworkReady(); });
  });
}

void NodeAgent::Core::PodChanged(const PodPtr& pod) {
  if (IsMirrorPod(*pod)) return MirrorChanged(pod);
  const auto& uid = pod->metadata.uid;
  const bool is_new = !workers_.contains(uid) && !pod->status.start_time;
  if (!is_new || !WhyNot(*pod)) return Work(pod);
  // Labels and extended resources may have come since: the Node as it is now decides.
  const bool asked = !undecided_.empty();
  undecided_[uid] = pod;
  if (!asked) RefreshNode();
}

void NodeAgent::Core::RefreshNode() {
  client_.Of<Node>().GetAsync("", options_.name, [weak = weak_from_this()](const Result<json::Value>& node) {
    const auto self = weak.lock();
    if (!self) return;
    self->OnStrand([node](Core& core) {
      Node seen;
      if (node && FromJson(*node, &seen)) core.node_ = std::move(seen);
      for (const auto& [uid, pod] : std::exchange(core.undecided_, {})) core.Work(pod);
    });
  });
}

void NodeAgent::Core::Work(const PodPtr& pod) {
  auto& worker = workers_[pod->metadata.uid];
  if (!worker) worker = std::make_shared<PodWorker>(context_, pod);
  worker->Update(pod);
}

void NodeAgent::Core::PodGone(const PodPtr& pod) {
  if (IsMirrorPod(*pod)) return MirrorGone(pod);
  undecided_.erase(pod->metadata.uid);
  const auto found = workers_.find(pod->metadata.uid);
  if (found != workers_.end()) found->second->Gone();
}

PodWorker* NodeAgent::Core::FindWorker(const std::string& pod_namespace, const std::string& pod_name) const {
  for (const auto& [uid, worker] : workers_) {
    const ObjectMeta& meta = worker->pod().metadata;
    if (meta.namespace_ == pod_namespace && meta.name == pod_name) return worker.get();
  }
  return nullptr;
}

void NodeAgent::Core::ReadLog(LogRequest request, LogSink sink, Closure not_here) {
  OnStrand(
      [request = std::move(request), sink = std::move(sink), not_here = std::move(not_here)](Core& self) {
        LogQuery query = request.query;
        const PodWorker* worker = self.FindWorker(query.pod_namespace, query.pod_name);
        if (!worker) return not_here();
        query.pod_uid = worker->pod().metadata.uid;
        query.attempt = worker->LastAttempt(query.container) - (request.previous ? 1 : 0);
        if (query.attempt < 0) {
          const std::string previous = "previous terminated container \"" + query.container + "\" in pod \"" +
                                       query.pod_name + "\" not found";
          sink.done(Unexpected(BadRequest(request.previous ? previous : worker->WhyNoLog(query.container))));
          return;
        }
        if (request.since_seconds >= 0)
          query.since = self.Now() - std::chrono::seconds(request.since_seconds);
        self.runtime_.ReadLog(query, sink);
      });
}

void NodeAgent::Core::Find(PodQuery query, std::function<void(const FoundPod&)> found, Closure not_here) {
  OnStrand([query = std::move(query), found = std::move(found), not_here = std::move(not_here)](Core& self) {
    const PodWorker* worker = self.FindWorker(query.pod_namespace, query.pod_name);
    if (!worker) return not_here();
    FoundPod pod = worker->Describe(query.container);
    pod.runtime = &self.runtime_;
    found(pod);
  });
}

}  // namespace flyball::node
