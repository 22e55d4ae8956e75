#include "controllers/node/taint_eviction_controller.h"

#include <algorithm>
#include <optional>

#include "api/types/core.h"
#include "controller/owner.h"

namespace flyball::controllers {
namespace {

constexpr char kNodeIndex[] = "node";

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  return !toleration.key.empty() && toleration.value == taint.value;
}

// When the pod has to go because of one taint: never, or at a time that may have passed.
std::optional<TimePoint> EvictionTime(const Pod& pod, const Taint& taint, TimePoint now) {
  const TimePoint since = taint.time_added ? taint.time_added->ToTimePoint() : now;
  bool tolerated = false;
  std::optional<TimePoint> at;
  for (const Toleration& toleration : pod.spec.tolerations) {
    if (!Tolerates(toleration, taint)) continue;
    tolerated = true;
    if (!toleration.toleration_seconds) continue;
    const TimePoint end =
        since + std::chrono::seconds(std::max<std::int64_t>(0, *toleration.toleration_seconds));
    at = at ? std::min(*at, end) : end;
  }
  return tolerated ? at : since;
}

Status Evict(const Pod& pod, Context& ctx) {
  ctx.recorder().Normal(pod, "TaintManagerEviction",
                        "Marking for deletion Pod " + pod.metadata.namespace_ + "/" + pod.metadata.name);
  Pod marked = pod;
  PodCondition target;
  target.type = "DisruptionTarget";
  target.status = "True";
  target.reason = "DeletionByTaintManager";
  target.message = "Taint manager: deleting due to NoExecute taint";
  if (SetCondition(marked.status.conditions, std::move(target), api::Time::From(ctx.Now())))
    FLYBALL_TRY(ctx.client().UpdateStatus(marked));
  const Status deleted = ctx.client().Delete(pod);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  return {};
}

Result<Action> ReconcileTaintEviction(const Pod& pod, Context& ctx) {
  if (pod.spec.node_name.empty() || IsDeleting(pod.metadata)) return Done();
  const auto node = ctx.lister<Node>().Get(pod.spec.node_name);
  if (!node) return Done();
  std::optional<TimePoint> first;
  for (const Taint& taint : node->spec.taints) {
    if (taint.effect != "NoExecute") continue;
    const auto at = EvictionTime(pod, taint, ctx.Now());
    if (at && (!first || *at < *first)) first = at;
  }
  if (!first) return Done();
  if (*first > ctx.Now()) return RequeueAfter(*first - ctx.Now());
  FLYBALL_TRY(Evict(pod, ctx));
  return Done();
}

}  // namespace

Status AddTaintEvictionController(Manager& manager, int workers) {
  const Status indexed =
      manager.informers().For<Pod>().AddIndex(kNodeIndex, [](const Pod& pod) -> std::vector<std::string> {
        if (pod.spec.node_name.empty()) return {};
        return {pod.spec.node_name};
      });
  if (!indexed && !indexed.error().Is(Reason::kAlreadyExists)) return indexed;
  const auto pods = manager.informers().For<Pod>().lister();
  Predicates<Node> taints_changed;
  taints_changed.update = [](const Node& a, const Node& b) { return a.spec.taints != b.spec.taints; };
  return manager.For<Pod>()
      .Named("taint-eviction-controller")
      .Watches<Node>(
          [pods](const Node& node) {
            std::vector<ObjectKey> keys;
            for (const auto& pod : pods.ByIndex(kNodeIndex, node.metadata.name))
              keys.push_back({pod->metadata.namespace_, pod->metadata.name});
            return keys;
          },
          taints_changed)
      .Workers(workers)
      .Reconcile(&ReconcileTaintEviction);
}

}  // namespace flyball::controllers
