#include "controllers/node/node_lifecycle_controller.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "api/types/coordination.h"
#include "api/types/core.h"
#include "controller/objects/owner.h"
#include "controller/objects/pod_node_index.h"
#include "controllers/node/node_taints.h"

namespace flyball::controllers {
namespace {

constexpr char kLeaseNamespace[] = "kube-node-lease";
constexpr std::array<const char*, 4> kConditions = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"};
// For a condition of a node that has reported before.
constexpr char kSilentReason[] = "NodeStatusUnknown";
constexpr char kLeftOut[] = "node.kubernetes.io/exclude-disruption";
// Old label names, kept in step with the new ones for those who still select by them.
constexpr std::array<std::pair<const char*, const char*>, 2> kOldLabels = {
    {{"kubernetes.io/os", "beta.kubernetes.io/os"}, {"kubernetes.io/arch", "beta.kubernetes.io/arch"}}};

std::string LabelOf(const Node& node, const char* name) {
  const auto found = node.metadata.labels.find(name);
  return found == node.metadata.labels.end() ? "" : found->second;
}

std::string ZoneOf(const Node& node) {
  return LabelOf(node, "topology.kubernetes.io/region") + "/" + LabelOf(node, "topology.kubernetes.io/zone");
}

// "True", "False", "Unknown", or "" if it was never reported.
std::string ReadyStatus(const Node& node) {
  const NodeCondition* ready = FindCondition(node.status.conditions, "Ready");
  return ready ? ready->status : "";
}

// Changes whenever the node has reported.
std::string SignOf(const Node& node, const Lister<Lease>& leases) {
  std::string sign;
  if (const auto lease = leases.Get(kLeaseNamespace, node.metadata.name); lease && lease->spec.renew_time)
    sign = api::FormatMicroTime(*lease->spec.renew_time);
  // The existence of a condition is a sign of life. A change of it is not, because we write it ourselves.
  if (const NodeCondition* ready = FindCondition(node.status.conditions, "Ready"))
    sign += "/" + (ready->last_heartbeat_time ? api::FormatTime(*ready->last_heartbeat_time) : "");
  return sign;
}

// The object of node events; upstream omits the version.
EventTarget NodeTarget(const std::string& name, const std::string& uid) {
  return {KindRefOf<Node>(), "", name, uid, "", ""};
}

// One reconcile of one node. Confined to it.
class NodeSync {
 public:
  NodeSync(const Node& node, Heartbeats& heartbeats, ZoneHealth& zones, const NodeLifecycleOptions& options,
           Context& ctx)
      : node_(node),
        heartbeats_(heartbeats),
        zones_(zones),
        options_(options),
        ctx_(ctx),
        now_{api::Time::From(ctx.Now()).seconds, 0} {}

  // `concerns_all` is set if every node must be looked at.
  Result<Action> Run(bool& concerns_all) {
    const std::string said = ReadyStatus(node_);
    const Duration left = TimeLeft();
    if (left <= Duration::zero()) FLYBALL_TRY(MarkUnknown());
    const std::string ready = ReadyStatus(node_);
    if (said == "True" && ready != "True") Report();
    FLYBALL_TRY(MarkPodsNotReady());
    concerns_all = NoteZone(ready == "True");
    FLYBALL_ASSIGN(const Duration wait, WriteTaintsAndLabels(ready));
    Duration next = left > Duration::zero() ? left : Duration::max();
    if (wait > Duration::zero()) next = std::min(next, wait);
    return next == Duration::max() ? Done() : RequeueAfter(next);
  }

 private:
  // How long until the node counts as silent.
  Duration TimeLeft() {
    const bool reported = !ReadyStatus(node_).empty();
    const TimePoint created = node_.metadata.creation_timestamp.value_or(now_).ToTimePoint();
    const TimePoint heard = heartbeats_.LastHeard(node_.metadata.name, SignOf(node_, ctx_.lister<Lease>()),
                                                  reported ? ctx_.Now() : created, ctx_.Now());
    return heard - ctx_.Now() +
           (reported ? options_.node_monitor_grace_period : options_.node_startup_grace_period);
  }

  Status MarkUnknown() {
    Node updated = node_;
    for (const char* type : kConditions) {
      const NodeCondition* known = FindCondition(node_.status.conditions, type);
      if (known && known->status == "Unknown") continue;
      NodeCondition unknown = known ? *known : NodeCondition{};
      unknown.type = type;
      unknown.status = "Unknown";
      unknown.reason = known ? kSilentReason : "NodeStatusNeverUpdated";
      unknown.message = known ? "Kubelet stopped posting node status." : "Kubelet never posted node status.";
      if (!known) unknown.last_heartbeat_time = node_.metadata.creation_timestamp;
      SetCondition(updated.status.conditions, std::move(unknown), now_);
    }
    if (updated.status == node_.status) return {};
    FLYBALL_ASSIGN(node_, ctx_.client().UpdateStatus(updated));
    return {};
  }

  void Report() {
    ctx_.recorder().Normal(NodeTarget(node_.metadata.name, node_.metadata.uid), "NodeNotReady",
                           "Node " + node_.metadata.name + " status is now: NodeNotReady");
  }

  // When a node falls silent, nobody else can mark its pods, and Services must not send traffic there. Pods
  // that became ready later, and pods of a node that never reported, are not handled here.
  Status MarkPodsNotReady() {
    const NodeCondition* silent = FindCondition(node_.status.conditions, "Ready");
    if (!silent || silent->reason != kSilentReason) return {};
    const api::Time since = silent->last_transition_time.value_or(now_);
    for (const auto& pod : PodsOnNode(ctx_.lister<Pod>(), node_.metadata.name)) {
      const PodCondition* ready = FindCondition(pod->status.conditions, "Ready");
      if (!ready || ready->status == "False" || ready->last_transition_time > since) continue;
      Pod marked = *pod;
      PodCondition condition = *ready;
      condition.status = "False";
      condition.observed_generation = pod->metadata.generation;
      SetCondition(marked.status.conditions, std::move(condition), now_);
      const auto written = ctx_.client().UpdateStatus(marked);
      if (!written && written.error().Is(Reason::kNotFound)) continue;
      if (!written) return Unexpected(written.error());
      ctx_.recorder().Warning(*pod, "NodeNotReady", "Node is not ready");
    }
    return {};
  }

  bool NoteZone(bool ready) {
    const std::string& name = node_.metadata.name;
    const auto change = node_.metadata.labels.contains(kLeftOut) ? zones_.Forget(name)
                                                                 : zones_.Note(name, ZoneOf(node_), ready);
    if (change == ZoneHealth::Change::kNoLongerAllDown) heartbeats_.ResetAll(ctx_.Now());
    return change != ZoneHealth::Change::kNone;
  }

  // How long until the NoExecute taint may be added, if it has to wait.
  Result<Duration> WriteTaintsAndLabels(const std::string& ready) {
    Node updated = node_;
    SetNoScheduleTaints(updated, now_);
    for (const auto& [name, old_name] : kOldLabels)
      if (const std::string value = LabelOf(updated, name); !value.empty())
        updated.metadata.labels[old_name] = value;
    const Duration wait = SetNoExecute(updated, ready);
    if (updated == node_) return wait;
    const auto written = ctx_.client().Update(updated);
    if (!written && took_turn_) zones_.GiveBack(ZoneOf(node_));
    if (!written) return Unexpected(written.error());
    return wait;
  }

  Duration SetNoExecute(Node& updated, const std::string& ready) {
    if (ready.empty()) return {};
    const char* wanted = ready == "True" ? "" : ready == "False" ? kNotReady : kUnreachable;
    const bool tainted = HasTaint(node_.spec.taints, kNotReady, "NoExecute") ||
                         HasTaint(node_.spec.taints, kUnreachable, "NoExecute");
    if (zones_.all_down()) wanted = "";
    if (*wanted != '\0' && !tainted) {
      const auto turn = zones_.Turn(ZoneOf(node_), ctx_.Now());
      if (!turn || *turn > Duration::zero()) return turn.value_or(options_.node_monitor_grace_period);
      took_turn_ = true;
    }
    SetNoExecuteTaint(updated, wanted, now_);
    return {};
  }

  Node node_;  // as it is after the writes of this reconcile
  Heartbeats& heartbeats_;
  ZoneHealth& zones_;
  const NodeLifecycleOptions& options_;
  Context& ctx_;
  const api::Time now_;
  bool took_turn_ = false;
};

// Thread-safe.
class NodeLifecycle {
 public:
  explicit NodeLifecycle(const NodeLifecycleOptions& options) : options_(options), zones_(options) {}

  void Bind(const std::shared_ptr<Controller>& controller) { controller_ = controller; }

  Result<Action> Reconcile(const ObjectKey& key, Context& ctx) {
    const auto node = ctx.lister<Node>().Get(key);
    if (!node) return Removed(key.name, ctx);
    if (heartbeats_.Register(key.name, node->metadata.uid))
      ctx.recorder().Normal(NodeTarget(key.name, node->metadata.uid), "RegisteredNode",
                            "Node " + key.name + " event: Registered Node " + key.name + " in Controller");
    bool concerns_all = false;
    auto result = NodeSync(*node, heartbeats_, zones_, options_, ctx).Run(concerns_all);
    if (concerns_all) LookAtAll();
    return result;
  }

 private:
  Result<Action> Removed(const std::string& name, Context& ctx) {
    if (const auto uid = heartbeats_.Forget(name))
      ctx.recorder().Normal(NodeTarget(name, *uid), "RemovingNode",
                            "Node " + name + " event: Removing Node " + name + " from Controller");
    if (zones_.Forget(name) != ZoneHealth::Change::kNone) LookAtAll();
    return Done();
  }

  void LookAtAll() {
    const auto controller = controller_.lock();
    if (!controller) return;
    for (const std::string& name : zones_.nodes()) controller->Enqueue({"", name});
  }

  const NodeLifecycleOptions options_;
  Heartbeats heartbeats_;
  ZoneHealth zones_;
  std::weak_ptr<Controller> controller_;
};

}  // namespace

Status AddNodeLifecycleController(Manager& manager, int workers, const NodeLifecycleOptions& options) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  const auto lifecycle = std::make_shared<NodeLifecycle>(options);
  std::shared_ptr<Controller> controller;
  FLYBALL_TRY(manager.For<Node>()
                  .Named("node-lifecycle-controller")
                  .EventSource("node-controller")
                  .Watches<Lease>([](const Lease& lease) -> std::vector<ObjectKey> {
                    if (lease.metadata.namespace_ != kLeaseNamespace) return {};
                    return {ObjectKey{"", lease.metadata.name}};
                  })
                  .Uses<Pod>()
                  .Workers(workers)
                  .Reconcile([lifecycle](const ObjectKey& key,
                                         Context& ctx) { return lifecycle->Reconcile(key, ctx); },
                             &controller));
  lifecycle->Bind(controller);
  return {};
}

}  // namespace flyball::controllers
