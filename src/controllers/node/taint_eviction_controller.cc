#include "controllers/node/taint_eviction_controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "api/select/matching.h"
#include "api/types/core.h"
#include "base/run/mutex.h"
#include "controller/objects/owner.h"
#include "controller/objects/pod_node_index.h"
#include "controller/pods/disruption_target.h"

namespace flyball::controllers {
namespace {

// A pod that will be evicted, and since when (a taint need not say when it was added). Or a pod that was
// evicted: the same taints evict a pod only once.
struct Eviction {
  std::string uid;
  TimePoint since;
  bool done = false;
};

// Thread-safe.
class Evictions {
 public:
  // For the pod with this name and uid: a new pod with the same name starts over.
  std::optional<Eviction> Find(const ObjectKey& pod, const std::string& uid) const {
    MutexLock lock(mu_);
    const auto found = entries_.find(pod.ToString());
    if (found == entries_.end() || found->second.uid != uid) return std::nullopt;
    return found->second;
  }
  void Put(const ObjectKey& pod, Eviction eviction) {
    MutexLock lock(mu_);
    entries_[pod.ToString()] = std::move(eviction);
  }
  // Forgets the pod. Returns true if it was still waiting to be evicted.
  bool Cancel(const ObjectKey& pod) {
    MutexLock lock(mu_);
    const auto found = entries_.extract(pod.ToString());
    return found && !found.mapped().done;
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, Eviction> entries_ FLYBALL_GUARDED_BY(mu_);
};

// When one taint evicts the pod: never, or at a time that may have passed. Of the matching tolerations, the
// first counts.
std::optional<TimePoint> EvictionTime(const Pod& pod, const Taint& taint, TimePoint since) {
  if (taint.time_added) since = std::min(since, taint.time_added->ToTimePoint());
  for (const Toleration& toleration : pod.spec.tolerations) {
    if (!Tolerates(toleration, taint)) continue;
    if (!toleration.toleration_seconds) return std::nullopt;
    return since + std::chrono::seconds(std::max<std::int64_t>(0, *toleration.toleration_seconds));
  }
  return since;
}

void Report(const ObjectKey& pod, const char* what, Context& ctx) {
  // The object of the events; upstream only names the pod.
  const EventTarget named{KindRefOf<Pod>(), pod.ns, pod.name, "", "", ""};
  ctx.recorder().Normal(named, "TaintManagerEviction", what + pod.ToString());
}

void CancelEviction(Evictions& evictions, Context& ctx) {
  if (evictions.Cancel(ctx.key())) Report(ctx.key(), "Cancelling deletion of Pod ", ctx);
}

Status Evict(const Pod& pod, Context& ctx) {
  Report(ctx.key(), "Marking for deletion Pod ", ctx);
  Pod marked = pod;
  if (MarkDisrupted(marked, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint",
                    ctx.Now()))
    FLYBALL_TRY(ctx.client().UpdateStatus(marked));
  const Status deleted = ctx.client().Delete(pod);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  return {};
}

// Nothing if no taint of its node evicts it.
std::optional<TimePoint> EvictionTime(const Pod& pod, const Node& node, TimePoint since) {
  std::optional<TimePoint> first;
  for (const Taint& taint : node.spec.taints) {
    if (taint.effect != "NoExecute") continue;
    const auto at = EvictionTime(pod, taint, since);
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

Result<Action> ReconcileTaintEviction(const Pod& pod, Evictions& evictions, Context& ctx) {
  const auto node = ctx.lister<Node>().Get(pod.spec.node_name);
  if (!node) return Done();
  Eviction eviction =
      evictions.Find(ctx.key(), pod.metadata.uid).value_or(Eviction{pod.metadata.uid, ctx.Now()});
  const auto at = EvictionTime(pod, *node, eviction.since);
  if (!at) {
    CancelEviction(evictions, ctx);
    return Done();
  }
  if (eviction.done) return Done();
  eviction.done = *at <= ctx.Now();
  if (eviction.done) FLYBALL_TRY(Evict(pod, ctx));
  evictions.Put(ctx.key(), eviction);
  return eviction.done ? Done() : RequeueAfter(*at - ctx.Now());
}

}  // namespace

Status AddTaintEvictionController(Manager& manager, int workers) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  const auto pods = manager.informers().For<Pod>().lister();
  const auto evictions = std::make_shared<Evictions>();
  Predicates<Node> taints_changed;
  taints_changed.update = [](const Node& a, const Node& b) { return a.spec.taints != b.spec.taints; };
  return manager.For<Pod>()
      .Named("taint-eviction-controller")
      .Watches<Node>([pods](const Node& node) { return KeysOfPodsOnNode(pods, node.metadata.name); },
                     taints_changed)
      .Workers(workers)
      .OnGone([evictions](const ObjectKey&, Context& ctx) -> Result<Action> {
        CancelEviction(*evictions, ctx);
        return Done();
      })
      .Reconcile(
          [evictions](const Pod& pod, Context& ctx) { return ReconcileTaintEviction(pod, *evictions, ctx); });
}

}  // namespace flyball::controllers
