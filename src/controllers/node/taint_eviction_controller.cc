#include "controllers/node/taint_eviction_controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "api/matching.h"
#include "api/types/core.h"
#include "base/mutex.h"
#include "controller/owner.h"
#include "controllers/objects/pod_node_index.h"

namespace flyball::controllers {
namespace {

// The pods that are to be evicted at some time, and since when: a taint need not say when it was added.
// Thread-safe.
class PendingEvictions {
 public:
  std::optional<TimePoint> Since(const ObjectKey& pod) const {
    MutexLock lock(mu_);
    const auto found = since_.find(pod.ToString());
    return found == since_.end() ? std::nullopt : std::optional(found->second);
  }
  void Add(const ObjectKey& pod, TimePoint since) {
    MutexLock lock(mu_);
    since_.emplace(pod.ToString(), since);
  }
  // True if one was pending.
  bool Cancel(const ObjectKey& pod) {
    MutexLock lock(mu_);
    return since_.erase(pod.ToString()) > 0;
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, TimePoint> since_ FLYBALL_GUARDED_BY(mu_);
};

// When the pod has to go because of one taint: never, or at a time that may have passed. Of the tolerations
// that match, the first counts.
std::optional<TimePoint> EvictionTime(const Pod& pod, const Taint& taint, TimePoint since) {
  if (taint.time_added) since = std::min(since, taint.time_added->ToTimePoint());
  for (const Toleration& toleration : pod.spec.tolerations) {
    if (!Tolerates(toleration, taint)) continue;
    if (!toleration.toleration_seconds) return std::nullopt;
    return since + std::chrono::seconds(std::max<std::int64_t>(0, *toleration.toleration_seconds));
  }
  return since;
}

std::string NameOf(const Pod& pod) {
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

// What events of evictions are about: upstream names the pod, and no more.
EventTarget NamedPod(const Pod& pod) {
  return {KindRefOf<Pod>(), pod.metadata.namespace_, pod.metadata.name, "", "", ""};
}

Status Evict(const Pod& pod, Context& ctx) {
  ctx.recorder().Normal(NamedPod(pod), "TaintManagerEviction", "Marking for deletion Pod " + NameOf(pod));
  Pod marked = pod;
  PodCondition target;
  target.type = "DisruptionTarget";
  target.observed_generation = pod.metadata.generation;
  target.status = "True";
  target.reason = "DeletionByTaintManager";
  target.message = "Taint manager: deleting due to NoExecute taint";
  if (SetCondition(marked.status.conditions, std::move(target), api::Time::From(ctx.Now())))
    FLYBALL_TRY(ctx.client().UpdateStatus(marked));
  const Status deleted = ctx.client().Delete(pod);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  return {};
}

// Nothing if no taint of its node drives it out.
std::optional<TimePoint> EvictionTime(const Pod& pod, const Node& node, TimePoint since) {
  std::optional<TimePoint> first;
  for (const Taint& taint : node.spec.taints) {
    if (taint.effect != "NoExecute") continue;
    const auto at = EvictionTime(pod, taint, since);
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

Result<Action> ReconcileTaintEviction(const Pod& pod, PendingEvictions& pending, Context& ctx) {
  if (pod.spec.node_name.empty()) return Done();
  const auto node = ctx.lister<Node>().Get(pod.spec.node_name);
  if (!node || IsDeleting(pod.metadata)) {
    pending.Cancel(ctx.key());
    return Done();
  }
  const TimePoint since = pending.Since(ctx.key()).value_or(ctx.Now());
  const auto at = EvictionTime(pod, *node, since);
  if (at && *at > ctx.Now()) {
    pending.Add(ctx.key(), since);
    return RequeueAfter(*at - ctx.Now());
  }
  if (at) FLYBALL_TRY(Evict(pod, ctx));
  if (pending.Cancel(ctx.key()) && !at)
    ctx.recorder().Normal(NamedPod(pod), "TaintManagerEviction", "Cancelling deletion of Pod " + NameOf(pod));
  return Done();
}

}  // namespace

Status AddTaintEvictionController(Manager& manager, int workers) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  const auto pods = manager.informers().For<Pod>().lister();
  const auto pending = std::make_shared<PendingEvictions>();
  Predicates<Node> taints_changed;
  taints_changed.update = [](const Node& a, const Node& b) { return a.spec.taints != b.spec.taints; };
  return manager.For<Pod>()
      .Named("taint-eviction-controller")
      .Watches<Node>([pods](const Node& node) { return KeysOfPodsOnNode(pods, node.metadata.name); },
                     taints_changed)
      .Workers(workers)
      .OnGone([pending](const ObjectKey& key, Context&) -> Result<Action> {
        pending->Cancel(key);
        return Done();
      })
      .Reconcile(
          [pending](const Pod& pod, Context& ctx) { return ReconcileTaintEviction(pod, *pending, ctx); });
}

}  // namespace flyball::controllers
