#include "controllers/node/node_lifecycle_controller.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/types/coordination.h"
#include "api/types/core.h"
#include "base/mutex.h"
#include "controller/owner.h"

namespace flyball::controllers {
namespace {

constexpr char kLeaseNamespace[] = "kube-node-lease";
constexpr char kNotReady[] = "node.kubernetes.io/not-ready";
constexpr char kUnreachable[] = "node.kubernetes.io/unreachable";
constexpr std::array<const char*, 4> kConditions = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"};

// When each node was last heard of, by our own clock: the clocks of nodes are not to be trusted. Thread-safe.
class Heartbeats {
 public:
  // `sign` changes whenever the node reports. The time since when it has not.
  TimePoint LastHeard(const std::string& node, const std::string& sign, TimePoint now) {
    MutexLock lock(mu_);
    Entry& entry = entries_[node];
    if (entry.sign != sign) entry = {sign, now};
    return entry.at;
  }
  void Forget(const std::string& node) {
    MutexLock lock(mu_);
    entries_.erase(node);
  }

 private:
  struct Entry {
    std::string sign = "?";
    TimePoint at;
  };
  Mutex mu_;
  std::unordered_map<std::string, Entry> entries_ FLYBALL_GUARDED_BY(mu_);
};

std::string SignOf(const Node& node, const Lister<Lease>& leases) {
  std::string sign;
  if (const auto lease = leases.Get(kLeaseNamespace, node.metadata.name); lease && lease->spec.renew_time)
    sign = api::FormatMicroTime(*lease->spec.renew_time);
  const NodeCondition* ready = FindCondition(node.status.conditions, "Ready");
  // What we write ourselves is no sign of life.
  if (ready && ready->status != "Unknown" && ready->last_heartbeat_time)
    sign += "/" + api::FormatTime(*ready->last_heartbeat_time);
  return sign;
}

Status MarkUnknown(const Node& node, Context& ctx) {
  Node updated = node;
  const auto now = api::Time::From(ctx.Now());
  for (const char* type : kConditions) {
    const NodeCondition* known = FindCondition(node.status.conditions, type);
    if (known && known->status == "Unknown") continue;
    NodeCondition unknown = known ? *known : NodeCondition{};
    unknown.type = type;
    unknown.status = "Unknown";
    unknown.reason = known ? "NodeStatusUnknown" : "NodeStatusNeverUpdated";
    unknown.message = known ? "Kubelet stopped posting node status." : "Kubelet never posted node status.";
    SetCondition(updated.status.conditions, std::move(unknown), now);
  }
  if (updated.status == node.status) return {};
  ctx.recorder().Normal(node, "NodeNotReady", "Node " + node.metadata.name + " status is now: NodeNotReady");
  FLYBALL_TRY(ctx.client().UpdateStatus(updated));
  return {};
}

void SetTaint(std::vector<Taint>& taints, const char* key, const char* effect, bool wanted, api::Time now) {
  const auto is = [&](const Taint& taint) { return taint.key == key && taint.effect == effect; };
  const bool has = std::any_of(taints.begin(), taints.end(), is);
  if (has && !wanted) std::erase_if(taints, is);
  if (has || !wanted) return;
  Taint taint;
  taint.key = key;
  taint.effect = effect;
  taint.time_added = now;
  taints.push_back(std::move(taint));
}

Status WriteTaints(const Node& node, Context& ctx) {
  const NodeCondition* ready = FindCondition(node.status.conditions, "Ready");
  // It has only just registered.
  if (!ready) return {};
  const std::string& status = ready->status;
  Node updated = node;
  const api::Time now{api::Time::From(ctx.Now()).seconds, 0};
  for (const char* effect : {"NoSchedule", "NoExecute"}) {
    SetTaint(updated.spec.taints, kNotReady, effect, status == "False", now);
    SetTaint(updated.spec.taints, kUnreachable, effect, status == "Unknown", now);
  }
  if (updated.spec.taints == node.spec.taints) return {};
  FLYBALL_TRY(ctx.client().Update(updated));
  return {};
}

Result<Action> ReconcileNodeLifecycle(const ObjectKey& key, Heartbeats& heartbeats, Context& ctx) {
  const auto node = ctx.lister<Node>().Get(key);
  if (!node) {
    heartbeats.Forget(key.name);
    return Done();
  }
  const TimePoint heard = heartbeats.LastHeard(key.name, SignOf(*node, ctx.lister<Lease>()), ctx.Now());
  const Duration left = heard + kNodeGracePeriod - ctx.Now();
  if (left <= Duration::zero()) FLYBALL_TRY(MarkUnknown(*node, ctx));
  FLYBALL_TRY(WriteTaints(*node, ctx));
  return left > Duration::zero() ? RequeueAfter(left) : Done();
}

}  // namespace

Status AddNodeLifecycleController(Manager& manager, int workers) {
  const auto heartbeats = std::make_shared<Heartbeats>();
  return manager.For<Node>()
      .Named("node-lifecycle-controller")
      .Watches<Lease>([](const Lease& lease) -> std::vector<ObjectKey> {
        if (lease.metadata.namespace_ != kLeaseNamespace) return {};
        return {ObjectKey{"", lease.metadata.name}};
      })
      .Workers(workers)
      .Reconcile([heartbeats](const ObjectKey& key, Context& ctx) {
        return ReconcileNodeLifecycle(key, *heartbeats, ctx);
      });
}

}  // namespace flyball::controllers
