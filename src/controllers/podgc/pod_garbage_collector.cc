#include "controllers/podgc/pod_garbage_collector.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "api/types/core.h"
#include "base/run/mutex.h"
#include "controller/objects/owner.h"
#include "controller/objects/pod_node_index.h"
#include "controller/pods/disruption_target.h"
#include "controller/pods/pod_state.h"
#include "controllers/node/node_taints.h"

namespace flyball::controllers {
namespace {

constexpr char kEndedIndex[] = "ended";
// A node may only be late to register, so this is how long to wait. Upstream waits 40 s (quarantineTime) and
// checks every 20 s, so a pod is deleted after 40 to 80 s.
constexpr Duration kQuarantine = std::chrono::seconds(60);
// The key of the reconcile that counts ended pods; every pod has a namespace.
const ObjectKey kCountEnded{"", "ended"};

// Since when each pod has been seen without its node. Tracked per pod, so that a pod bound to a long-missing
// node gets the same time. Thread-safe.
class PodsWithoutNode {
 public:
  TimePoint Since(const ObjectKey& pod, const std::string& uid, TimePoint now) {
    MutexLock lock(mu_);
    Entry& entry = since_.try_emplace(pod.ToString(), Entry{uid, now}).first->second;
    if (entry.uid != uid) entry = {uid, now};
    return entry.at;
  }
  void Forget(const ObjectKey& pod) {
    MutexLock lock(mu_);
    since_.erase(pod.ToString());
  }

 private:
  struct Entry {
    std::string uid;
    TimePoint at;
  };
  Mutex mu_;
  std::map<std::string, Entry> since_ FLYBALL_GUARDED_BY(mu_);
};

Result<Action> DeleteNow(const Pod& pod, Context& ctx) {
  DeleteParams now;
  now.grace_period_seconds = 0;
  const Status deleted = ctx.client().Delete(pod, now);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  return Done();
}

enum class NodeIs { kThere, kGone };

// Sets the phase Failed before deleting the pod, so that whoever counts it learns that, and why.
Result<Action> FailAndDelete(const Pod& pod, NodeIs node, Context& ctx) {
  if (!IsPodFinished(pod)) {
    Pod failed = pod;
    failed.status.phase = "Failed";
    if (node == NodeIs::kGone)
      MarkDisrupted(failed, "DeletionByPodGC", "PodGC: node no longer exists", ctx.Now());
    // The collector may patch the status of pods, but not update it.
    const json::Value whole = ToJson(failed), before = ToJson(pod);
    json::Object status{{"phase", "Failed"}};
    if (!(whole["status"]["conditions"] == before["status"]["conditions"]))
      status.Set("conditions", whole["status"]["conditions"]);
    PatchParams params;
    params.subresource = "status";
    const auto written = ctx.client().Patch<Pod>(
        pod.metadata.namespace_, pod.metadata.name, PatchType::kMerge,
        json::Object{{"metadata", json::Object{{"resourceVersion", pod.metadata.resource_version}}},
                     {"status", std::move(status)}},
        params);
    if (!written && written.error().Is(Reason::kNotFound)) return Done();
    if (!written) return Unexpected(written.error());
  }
  return DeleteNow(pod, ctx);
}

bool IsOutOfService(const Node& node) {
  if (IsConditionTrue(node.status.conditions, "Ready")) return false;
  return std::any_of(node.spec.taints.begin(), node.spec.taints.end(),
                     [](const Taint& taint) { return taint.key == kOutOfService; });
}

// Checked against the server, not the cache.
Result<bool> IsReallyGone(const std::string& node, Context& ctx) {
  const auto live = ctx.client().Get<Node>("", node);
  if (live) return false;
  if (!live.error().Is(Reason::kNotFound)) return Unexpected(live.error());
  return true;
}

Result<Action> ReconcilePod(const Pod& pod, PodsWithoutNode& missing, Context& ctx) {
  const std::string& name = pod.spec.node_name;
  if (name.empty()) return IsDeleting(pod.metadata) ? FailAndDelete(pod, NodeIs::kThere, ctx) : Done();
  if (const auto node = ctx.lister<Node>().Get(name)) {
    missing.Forget(ctx.key());
    if (IsDeleting(pod.metadata) && IsOutOfService(*node)) return FailAndDelete(pod, NodeIs::kThere, ctx);
    return Done();
  }
  const Duration left = missing.Since(ctx.key(), pod.metadata.uid, ctx.Now()) + kQuarantine - ctx.Now();
  if (left > Duration::zero()) return RequeueAfter(left);
  FLYBALL_ASSIGN(const bool gone, IsReallyGone(name, ctx));
  return gone ? FailAndDelete(pod, NodeIs::kGone, ctx) : Done();
}

// Evicted pods first, then the oldest.
Result<Action> DeleteOldestEnded(int threshold, Context& ctx) {
  auto ended = ctx.lister<Pod>().ByIndex(kEndedIndex, "yes");
  if (threshold <= 0 || static_cast<int>(ended.size()) <= threshold) return Done();
  std::sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const Pod& pod) {
      return std::tuple(pod.status.reason != "Evicted", pod.metadata.creation_timestamp, pod.metadata.name);
    };
    return rank(*a) < rank(*b);
  });
  ended.resize(ended.size() - static_cast<std::size_t>(threshold));
  for (const auto& pod : ended) FLYBALL_TRY(DeleteNow(*pod, ctx));
  return Done();
}

EventHandler<Pod> CountWhenOneEnds(const std::weak_ptr<Controller>& controller) {
  using Ptr = std::shared_ptr<const Pod>;
  const auto count = [controller] {
    if (const auto target = controller.lock()) target->Enqueue(kCountEnded, Priority::kLow);
  };
  EventHandler<Pod> handler;
  handler.on_add = [count](const Ptr& pod, bool) {
    if (IsPodFinished(*pod)) count();
  };
  handler.on_update = [count](const Ptr& before, const Ptr& now) {
    if (!IsPodFinished(*before) && IsPodFinished(*now)) count();
  };
  return handler;
}

}  // namespace

Status AddPodGarbageCollector(Manager& manager, int workers, int terminated_threshold) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  const auto pods = manager.informers().For<Pod>().lister();
  const auto missing = std::make_shared<PodsWithoutNode>();
  Predicates<Node> may_matter;
  may_matter.update = [](const Node& before, const Node& now) {
    return IsOutOfService(now) && !IsOutOfService(before);
  };
  std::shared_ptr<Controller> controller;
  FLYBALL_TRY(
      manager.For<Pod>()
          .Named("pod-garbage-collector-controller")
          .Index<Pod>(kEndedIndex,
                      [](const Pod& pod) {
                        return IsPodFinished(pod) ? std::vector<std::string>{"yes"}
                                                  : std::vector<std::string>{};
                      })
          .Watches<Node>([pods](const Node& node) { return KeysOfPodsOnNode(pods, node.metadata.name); },
                         may_matter)
          .Workers(workers)
          .Reconcile(
              [missing, terminated_threshold](const ObjectKey& key, Context& ctx) -> Result<Action> {
                if (key == kCountEnded) return DeleteOldestEnded(terminated_threshold, ctx);
                const auto pod = ctx.lister<Pod>().Get(key);
                if (pod) return ReconcilePod(*pod, *missing, ctx);
                missing->Forget(key);
                return Done();
              },
              &controller));
  controller->DependOn(manager.informers().For<Pod>().AddHandler(CountWhenOneEnds(controller)));
  return {};
}

}  // namespace flyball::controllers
