#include "controllers/podgc/pod_garbage_collector.h"

#include "api/types/core.h"
#include "controller/owner.h"
#include "controllers/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kPodsByNode[] = "node";
// A node may only be late to register: so long is it waited for (upstream: quarantineTime).
constexpr Duration kQuarantine = std::chrono::seconds(40);

Result<Action> DeleteNow(const Pod& pod, Context& ctx) {
  DeleteParams now;
  now.grace_period_seconds = 0;
  const Status deleted = ctx.client().Delete(pod, now);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  return Done();
}

// Says that it failed before it goes: whoever counts it learns why.
Status MarkFailed(const Pod& pod, Context& ctx) {
  if (IsPodFinished(pod)) return {};
  Pod failed = pod;
  failed.status.phase = "Failed";
  PodCondition target;
  target.type = "DisruptionTarget";
  target.status = "True";
  target.reason = "DeletionByPodGC";
  target.message = "PodGC: node no longer exists";
  SetCondition(failed.status.conditions, std::move(target), api::Time::From(ctx.Now()));
  FLYBALL_TRY(ctx.client().UpdateStatus(failed));
  return {};
}

Result<Action> ReconcilePodGarbageCollector(const Pod& pod, Context& ctx) {
  if (pod.spec.node_name.empty()) {
    if (IsDeleting(pod.metadata)) return DeleteNow(pod, ctx);
    return Done();
  }
  if (ctx.lister<Node>().Get(pod.spec.node_name)) return Done();
  // A young pod may be on a node that is about to register; asked again of the server, not of the cache.
  const TimePoint created = pod.metadata.creation_timestamp.value_or(api::Time{}).ToTimePoint();
  const Duration left = created + kQuarantine - ctx.Now();
  if (left > Duration::zero()) return RequeueAfter(left);
  const auto live = ctx.client().Get<Node>("", pod.spec.node_name);
  if (live) return Done();
  if (!live.error().Is(Reason::kNotFound)) return Unexpected(live.error());
  FLYBALL_TRY(MarkFailed(pod, ctx));
  return DeleteNow(pod, ctx);
}

}  // namespace

Status AddPodGarbageCollector(Manager& manager, int workers) {
  const Status indexed =
      manager.informers().For<Pod>().AddIndex(kPodsByNode, [](const Pod& pod) -> std::vector<std::string> {
        if (pod.spec.node_name.empty()) return {};
        return {pod.spec.node_name};
      });
  if (!indexed && !indexed.error().Is(Reason::kAlreadyExists)) return indexed;
  const auto pods = manager.informers().For<Pod>().lister();
  const Predicates<Node> only_deletions{.create = [](const Node&) { return false; },
                                        .update = [](const Node&, const Node&) { return false; },
                                        .remove = nullptr};
  return manager.For<Pod>()
      .Named("pod-garbage-collector-controller")
      .Watches<Node>(
          [pods](const Node& node) {
            std::vector<ObjectKey> keys;
            for (const auto& pod : pods.ByIndex(kPodsByNode, node.metadata.name))
              keys.push_back({pod->metadata.namespace_, pod->metadata.name});
            return keys;
          },
          only_deletions)
      .Workers(workers)
      .Reconcile(&ReconcilePodGarbageCollector);
}

}  // namespace flyball::controllers
