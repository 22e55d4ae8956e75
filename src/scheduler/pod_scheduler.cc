#include "scheduler/pod_scheduler.h"

#include <atomic>

#include "base/observe/log.h"
#include "controller/objects/owner.h"
#include "scheduler/devices/claim_writer.h"
#include "scheduler/filter/filters.h"
#include "scheduler/snapshot/spread_group.h"

namespace flyball::scheduler {
namespace {

// Decisions made in a row before informers get a turn.
constexpr int kBatch = 16;

bool Ended(const Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool HasClaims(const PodInfo& pod) {
  return !pod.pod->spec.resource_claims.empty();
}

bool HasVolumes(const PodInfo& pod) {
  return UsesClaims(*pod.pod);
}

// Calls `then` once all handlers have received what existed.
void OnceSynced(const std::vector<std::shared_ptr<HandlerRegistration>>& handlers,
                std::function<void()> then) {
  auto left = std::make_shared<std::atomic<std::size_t>>(handlers.size());
  for (const auto& handler : handlers)
    handler->OnSynced([left, then] {
      if (--*left == 0) then();
    });
}

bool CaresAboutOthers(const PodInfo& pod) {
  return pod.HasAffinity() || !pod.pod->spec.topology_spread_constraints.empty();
}

}  // namespace

PodScheduler::PodScheduler(Manager& manager, SchedulerOptions options)
    : options_(std::move(options)),
      client_(manager.client()),
      informers_(manager.informers()),
      random_(manager.runtime().random),
      strand_(manager.runtime().executor),
      recorder_(client_, options_.scheduler_name),
      services_(informers_.For<Service>().lister()),
      replica_sets_(informers_.For<ReplicaSet>().lister()),
      stateful_sets_(informers_.For<StatefulSet>().lister()),
      budgets_(informers_.For<PodDisruptionBudget>().lister()),
      devices_(informers_, random_),
      volumes_(informers_) {}

void PodScheduler::OnStrand(UniqueFunction<void(PodScheduler&)> fn) {
  strand_.Post([weak = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = weak.lock()) fn(*self);
  });
}

void PodScheduler::Connect() {
  ListenToPods();
  ListenToNodes();
  ListenToNamespaces();
  ListenToDevices();
  ListenToVolumes();
}

void PodScheduler::ListenToPods() {
  const std::weak_ptr<PodScheduler> weak = weak_from_this();
  EventHandler<Pod> handler;
  handler.on_add = [weak](const PodPtr& pod, bool) {
    if (const auto self = weak.lock()) self->OnStrand([pod](PodScheduler& s) { s.PodChanged(nullptr, pod); });
  };
  handler.on_update = [weak](const PodPtr& old_pod, const PodPtr& pod) {
    if (const auto self = weak.lock())
      self->OnStrand([old_pod, pod](PodScheduler& s) { s.PodChanged(old_pod, pod); });
  };
  handler.on_delete = [weak](const PodPtr& pod, bool) {
    if (const auto self = weak.lock()) self->OnStrand([pod](PodScheduler& s) { s.PodGone(pod); });
  };
  handlers_.push_back(informers_.For<Pod>().AddHandler(std::move(handler)));
}

void PodScheduler::ListenToNodes() {
  const std::weak_ptr<PodScheduler> weak = weak_from_this();
  EventHandler<Node> handler;
  handler.on_add = [weak](const NodePtr& node, bool) {
    if (const auto self = weak.lock())
      self->OnStrand([node](PodScheduler& s) { s.NodeChanged(nullptr, node); });
  };
  handler.on_update = [weak](const NodePtr& old_node, const NodePtr& node) {
    if (const auto self = weak.lock())
      self->OnStrand([old_node, node](PodScheduler& s) { s.NodeChanged(old_node, node); });
  };
  handler.on_delete = [weak](const NodePtr& node, bool) {
    if (const auto self = weak.lock())
      self->OnStrand([node](PodScheduler& s) { s.cluster_.RemoveNode(node->metadata.name); });
  };
  handlers_.push_back(informers_.For<Node>().AddHandler(std::move(handler)));
}

void PodScheduler::ListenToNamespaces() {
  const std::weak_ptr<PodScheduler> weak = weak_from_this();
  const auto set = [weak](const std::shared_ptr<const Namespace>& ns) {
    if (const auto self = weak.lock())
      self->OnStrand(
          [ns](PodScheduler& s) { s.cluster_.SetNamespace(ns->metadata.name, ns->metadata.labels); });
  };
  EventHandler<Namespace> handler;
  handler.on_add = [set](const auto& ns, bool) { set(ns); };
  handler.on_update = [set](const auto&, const auto& ns) { set(ns); };
  handler.on_delete = [weak](const auto& ns, bool) {
    if (const auto self = weak.lock())
      self->OnStrand([ns](PodScheduler& s) { s.cluster_.RemoveNamespace(ns->metadata.name); });
  };
  handlers_.push_back(informers_.For<Namespace>().AddHandler(std::move(handler)));
}

// A change of the kind may help such pods. `seen` is called for each new state of an object first.
template <typename T>
void PodScheduler::WakeOn(Handlers& handlers, bool (*helps)(const PodInfo& pod),
                          std::function<void(PodScheduler&, const T&)> seen) {
  const std::weak_ptr<PodScheduler> weak = weak_from_this();
  const auto changed = [weak, helps, seen](const std::shared_ptr<const T>& object) {
    const auto self = weak.lock();
    if (!self) return;
    self->OnStrand([helps, seen, object](PodScheduler& s) {
      if (seen) seen(s, *object);
      s.queue_.Wake(helps, s.Now());
      s.Pump();
    });
  };
  EventHandler<T> handler;
  handler.on_add = [changed](const auto& object, bool) { changed(object); };
  handler.on_update = [changed](const auto&, const auto& object) { changed(object); };
  handler.on_delete = [changed](const auto& object, bool) { changed(object); };
  handlers.push_back(informers_.For<T>().AddHandler(std::move(handler)));
}

void PodScheduler::ListenToDevices() {
  WakeOn<ResourceClaimObject>(
      device_handlers_, HasClaims,
      [](PodScheduler& s, const ResourceClaimObject& claim) { s.devices_.Seen(claim); });
  WakeOn<DeviceClass>(device_handlers_, HasClaims, nullptr);
  WakeOn<ResourceSlice>(device_handlers_, HasClaims, nullptr);
  WakeOn<DeviceTaintRule>(device_handlers_, HasClaims, nullptr);
}

void PodScheduler::ListenToVolumes() {
  WakeOn<PersistentVolumeClaim>(volume_handlers_, HasVolumes,
                                [](PodScheduler& s, const PersistentVolumeClaim&) { s.CheckVolumes(); });
  WakeOn<PersistentVolume>(volume_handlers_, HasVolumes, nullptr);
  WakeOn<StorageClass>(volume_handlers_, HasVolumes, nullptr);
}

void PodScheduler::Start(std::stop_token stop) {
  OnStrand([stop = std::move(stop)](PodScheduler& self) {
    self.stop_ = stop;
    self.BeginWhenSynced();
  });
}

void PodScheduler::BeginWhenSynced() {
  OnceSynced(handlers_, [weak = weak_from_this()] {
    if (const auto self = weak.lock())
      self->OnStrand([](PodScheduler& s) {
        s.running_ = true;
        s.Pump();
      });
  });
  OnceSynced(device_handlers_, [weak = weak_from_this()] {
    if (const auto self = weak.lock())
      self->OnStrand([](PodScheduler& s) {
        s.devices_known_ = true;
        s.queue_.Wake(HasClaims, s.Now());
        s.Pump();
      });
  });
  OnceSynced(volume_handlers_, [weak = weak_from_this()] {
    if (const auto self = weak.lock())
      self->OnStrand([](PodScheduler& s) {
        s.volumes_known_ = true;
        s.queue_.Wake(HasVolumes, s.Now());
        s.Pump();
      });
  });
}

void PodScheduler::PodChanged(const PodPtr& old_pod, const PodPtr& pod) {
  if (old_pod && old_pod->metadata.uid != pod->metadata.uid) PodGone(old_pod);
  if (!pod->spec.node_name.empty()) return AssignedChanged(old_pod, pod);
  if (pod->spec.scheduler_name == options_.scheduler_name) WaitingChanged(old_pod, pod);
}

void PodScheduler::AssignedChanged(const PodPtr& old_pod, const PodPtr& pod) {
  const std::string& uid = pod->metadata.uid;
  queue_.Remove(uid);
  if (Ended(*pod)) {
    if (cluster_.NodeOf(uid).empty()) return;
    cluster_.RemovePod(uid);
    return RoomMade(pod->spec.node_name);
  }
  // Most updates change the status, which does not affect where other pods are placed.
  const bool known = !cluster_.NodeOf(uid).empty();
  if (known && old_pod && old_pod->metadata.labels == pod->metadata.labels && old_pod->spec == pod->spec &&
      old_pod->metadata.deletion_timestamp == pod->metadata.deletion_timestamp &&
      old_pod->status.start_time == pod->status.start_time)
    return;
  const auto info = std::make_shared<PodInfo>(pod);
  cluster_.Nominate(info, "");
  cluster_.SetPod(info);
  queue_.Wake(CaresAboutOthers, Now());
  Pump();
}

void PodScheduler::WaitingChanged(const PodPtr& old_pod, const PodPtr& pod) {
  const std::string& uid = pod->metadata.uid;
  // Assumed: its binding is in flight.
  if (!cluster_.NodeOf(uid).empty()) return;
  if (pod->metadata.deletion_timestamp || Ended(*pod) || !pod->spec.scheduling_gates.empty()) {
    queue_.Remove(uid);
    return;
  }
  const bool asks_anew =
      old_pod && (old_pod->spec != pod->spec || old_pod->metadata.labels != pod->metadata.labels ||
                  old_pod->status.resource_claim_statuses != pod->status.resource_claim_statuses);
  auto info = std::make_shared<PodInfo>(pod);
  cluster_.Nominate(info, pod->status.nominated_node_name);
  queue_.Put(std::move(info), Now(), asks_anew);
  Pump();
}

void PodScheduler::PodGone(const PodPtr& pod) {
  const std::string& uid = pod->metadata.uid;
  queue_.Remove(uid);
  ForgetVolumes(uid);
  cluster_.Nominate(std::make_shared<PodInfo>(pod), "");
  const std::string node = cluster_.NodeOf(uid);
  if (node.empty()) return;
  cluster_.RemovePod(uid);
  RoomMade(node);
}

void PodScheduler::RoomMade(const std::string& name) {
  const NodeInfo* node = cluster_.FindNode(name);
  queue_.Wake(
      [node](const PodInfo& pod) { return CaresAboutOthers(pod) || (node && CheckNode(pod, *node).ok()); },
      Now());
  Pump();
}

void PodScheduler::NodeChanged(const NodePtr& old_node, const NodePtr& node) {
  // Heartbeats change only times and help no pod.
  if (old_node && old_node->spec == node->spec && old_node->metadata.labels == node->metadata.labels &&
      old_node->status.allocatable == node->status.allocatable &&
      old_node->status.images == node->status.images && cluster_.FindNode(node->metadata.name))
    return;
  const bool first = cluster_.node_count() == 0;
  cluster_.SetNode(node);
  const NodeInfo* info = cluster_.FindNode(node->metadata.name);
  queue_.Wake(
      [&](const PodInfo& pod) { return first || CaresAboutOthers(pod) || CheckNode(pod, *info).ok(); },
      Now());
  Pump();
}

void PodScheduler::Pump() {
  if (!running_ || posted_ || !queue_.ready()) return;
  posted_ = true;
  OnStrand([](PodScheduler& self) { self.RunSome(); });
}

void PodScheduler::RunSome() {
  posted_ = false;
  for (int i = 0; i < kBatch && !stop_.stop_requested(); ++i) {
    const auto entry = queue_.Take(Now());
    if (!entry) break;
    Try(*entry);
  }
  if (stop_.stop_requested()) running_ = false;
  Pump();
}

api::Optional<LabelSelector> PodScheduler::GroupOf(const Pod& pod) const {
  const LabelSelector* owner_selector = nullptr;
  std::shared_ptr<const ReplicaSet> replica_set;
  std::shared_ptr<const StatefulSet> stateful_set;
  if (const auto owner = ControllerOf(pod)) {
    if (owner->kind == "ReplicaSet") {
      replica_set = replica_sets_.Get(pod.metadata.namespace_, owner->name);
      if (replica_set && replica_set->spec.selector) owner_selector = &*replica_set->spec.selector;
    } else if (owner->kind == "StatefulSet") {
      stateful_set = stateful_sets_.Get(pod.metadata.namespace_, owner->name);
      if (stateful_set && stateful_set->spec.selector) owner_selector = &*stateful_set->spec.selector;
    }
  }
  return SpreadGroup(pod, services_.List(pod.metadata.namespace_), owner_selector);
}

void PodScheduler::Try(const SchedulingQueue::Entry& entry) {
  const auto devices = devices_.Begin(*entry.pod->pod);
  // Not to be tried before its claims exist (upstream: PreEnqueue).
  if (devices && (!devices_known_ || devices->state() == PodDevices::State::kWaiting))
    return queue_.Park(entry.pod->uid(), Now());
  const auto volumes = volumes_.Begin(*entry.pod->pod);
  if (volumes && !volumes_known_) return queue_.Park(entry.pod->uid(), Now());
  const Snapshot snapshot = cluster_.TakeSnapshot();
  // With one node there is nothing to choose, so the spread group is not needed.
  const auto group = snapshot.nodes.size() > 1 ? GroupOf(*entry.pod->pod) : api::Optional<LabelSelector>();
  const Placement placement =
      Place(*entry.pod, group, snapshot, random_, start_, devices.get(), volumes.get());
  if (placement.node.empty()) {
    if (const ClaimPtr stuck = devices ? devices->Stuck() : nullptr) ClaimWriter::Free(client_, *stuck);
    return NoPlace(entry.pod, snapshot, placement);
  }
  cluster_.Assume(entry.pod, placement.node);
  auto plans = devices ? devices->PlanFor(placement.node) : std::vector<ClaimPlan>();
  auto bindings = volumes ? volumes->PlanFor(placement.node) : std::vector<VolumeBinding>();
  if (!bindings.empty()) return BindVolumes(entry.pod, placement.node, std::move(bindings), std::move(plans));
  if (plans.empty()) return Bind(entry.pod, placement.node);
  BindClaims(entry.pod, placement.node, std::move(plans));
}

void PodScheduler::ArmTimer() {
  const auto next = queue_.Advance(Now());
  Pump();
  if (!next || (timer_ != kNoTimer && timer_at_ <= *next)) return;
  if (timer_ != kNoTimer) strand_.Cancel(timer_);
  timer_at_ = *next;
  timer_ = strand_.PostAt(*next, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->stop_.stop_requested()) return;
    self->timer_ = kNoTimer;
    self->ArmTimer();
  });
}

Status AddScheduler(Manager& manager, const SchedulerOptions& options) {
  const auto scheduler = std::make_shared<PodScheduler>(manager, options);
  scheduler->Connect();
  manager.AddRunnable("scheduler", [scheduler](std::stop_token stop) -> Status {
    scheduler->Start(std::move(stop));
    return {};
  });
  return {};
}

}  // namespace flyball::scheduler
