#include "controllers/replicaset/replicaset_controller.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "api/select/matching.h"
#include "api/types/apps.h"
#include "api/types/core.h"
#include "controller/objects/controller_ref.h"
#include "controller/objects/expectations.h"
#include "controller/objects/owner_index.h"
#include "controller/objects/write_status.h"
#include "controller/pods/deletion_rank.h"
#include "controller/pods/pod_batch.h"
#include "controller/pods/pod_from_template.h"
#include "controller/pods/pod_state.h"
#include "controllers/replicaset/replicaset_status.h"

namespace flyball::controllers {
namespace {

std::string KeyOfPod(const Pod& pod) {
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

bool Selects(const ReplicaSet& rs, const Labels& labels) {
  return rs.spec.selector && Matches(*rs.spec.selector, labels);
}
bool Selects(const ReplicationController& rc, const Labels& labels) {
  return !rc.spec.selector.empty() && HasLabels(labels, rc.spec.selector);
}

// Reconciles ReplicaSets and ReplicationControllers (the same in an older form), with the pod handlers that
// trigger it. Thread-safe.
template <typename Set>
class ReplicaLoop {
 public:
  explicit ReplicaLoop(Manager& manager)
      : sets_(manager.informers().For<Set>().lister()),
        pods_(manager.informers().For<Pod>().lister()),
        expectations_(manager.runtime().clock()) {}

  Result<Action> Reconcile(const ObjectKey& key, Context& ctx);

  // The keys to reconcile because of a pod: its owner or, for an orphan, every owner that might adopt it.
  std::vector<ObjectKey> OwnersOf(const Pod& pod) const;
  std::vector<ObjectKey> PodAdded(const Pod& pod);
  std::vector<ObjectKey> PodUpdated(const Pod& old_pod, const Pod& pod);
  std::vector<ObjectKey> PodDeleted(const Pod& pod);

 private:
  Result<std::vector<PodPtr>> ClaimPods(const Set& rs, Context& ctx) const;
  // Pods of its own that are on their way out.
  std::int32_t TerminatingPods(const Set& rs) const;
  Status ManageReplicas(const Set& rs, const std::vector<PodPtr>& pods, Context& ctx);
  Status AddPods(const Set& rs, int count, Context& ctx);
  Status RemovePods(const Set& rs, const std::vector<PodPtr>& pods, std::size_t count, Context& ctx);
  // The active pods of all sets with the same controller.
  std::vector<PodPtr> RelatedPods(const Set& rs) const;

  const Lister<Set> sets_;
  const Lister<Pod> pods_;
  Expectations expectations_;
};

template <typename Set>
int MissingPods(const Set& rs, const std::vector<PodPtr>& pods) {
  return rs.spec.replicas.value_or(1) - static_cast<int>(pods.size());
}

// A ready pod becomes available by time alone, so check again then.
template <typename Set>
Action WhenNextAvailable(const Set& rs, const std::vector<PodPtr>& pods, TimePoint now) {
  Duration next = Duration::max();
  for (const PodPtr& pod : pods) {
    const auto left = TimeUntilAvailable(*pod, rs.spec.min_ready_seconds, now);
    if (left && *left > Duration::zero()) next = std::min(next, *left);
  }
  return next == Duration::max() ? Done() : RequeueAfter(next);
}

template <typename Set>
Result<Action> ReplicaLoop<Set>::Reconcile(const ObjectKey& key, Context& ctx) {
  const auto rs = sets_.Get(key);
  if (!rs) {
    expectations_.Forget(key);
    return Done();
  }
  // Checked before the pods are read, so that everything observed in between is among them.
  const bool may_act = expectations_.Satisfied(key);
  FLYBALL_ASSIGN(const std::vector<PodPtr> pods, ClaimPods(*rs, ctx));

  Status managed;
  if (may_act && !IsDeleting(rs->metadata)) managed = ManageReplicas(*rs, pods, ctx);

  Set updated = *rs;
  updated.status = StatusOf(*rs, pods, MissingPods(*rs, pods), managed, ctx.Now());
  if constexpr (std::is_same_v<Set, ReplicaSet>) updated.status.terminating_replicas = TerminatingPods(*rs);
  if (updated.status != rs->status) {
    const auto written = WriteStatus(ctx.client(), updated);
    if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  }
  if (!managed) return Unexpected(managed.error());
  return WhenNextAvailable(*rs, pods, ctx.Now());
}

template <typename Set>
std::int32_t ReplicaLoop<Set>::TerminatingPods(const Set& rs) const {
  std::int32_t count = 0;
  for (const PodPtr& pod : ControlledOrOrphan(pods_, rs.metadata)) {
    const auto owner = ControllerOf(*pod);
    count += owner && owner->uid == rs.metadata.uid && IsDeleting(pod->metadata) && !IsPodFinished(*pod);
  }
  return count;
}

template <typename Set>
Result<std::vector<PodPtr>> ReplicaLoop<Set>::ClaimPods(const Set& rs, Context& ctx) const {
  std::vector<PodPtr> candidates = ControlledOrOrphan(pods_, rs.metadata);
  std::erase_if(candidates, [](const PodPtr& pod) { return !IsPodActive(*pod); });
  ControllerRefManager<Set, Pod> refs(ctx.client(), rs,
                                      [&rs](const Pod& pod) { return Selects(rs, pod.metadata.labels); });
  return refs.Claim(candidates);
}

template <typename Set>
Status ReplicaLoop<Set>::ManageReplicas(const Set& rs, const std::vector<PodPtr>& pods, Context& ctx) {
  const int missing = MissingPods(rs, pods);
  if (missing > 0) return AddPods(rs, std::min(missing, kBurstReplicas), ctx);
  if (missing < 0)
    return RemovePods(rs, pods, static_cast<std::size_t>(std::min(-missing, kBurstReplicas)), ctx);
  return {};
}

template <typename Set>
Status ReplicaLoop<Set>::AddPods(const Set& rs, int count, Context& ctx) {
  const Pod pod = PodFromTemplate(TemplateOf(rs), rs);
  expectations_.ExpectCreations(ctx.key(), count);
  const BatchResult made = CreatePods({ctx.client(), ctx.recorder(), TargetOf(rs)}, count, pod);
  // Creations that failed, or were not tried after the first failure, will never be observed.
  for (int i = made.succeeded; i < count; ++i) expectations_.CreationObserved(ctx.key());
  return made.status;
}

template <typename Set>
Status ReplicaLoop<Set>::RemovePods(const Set& rs, const std::vector<PodPtr>& pods, std::size_t count,
                                    Context& ctx) {
  const std::vector<PodPtr> chosen = PodsToDelete(pods, RelatedPods(rs), count);
  std::vector<std::string> keys;
  for (const PodPtr& pod : chosen) keys.push_back(KeyOfPod(*pod));
  expectations_.ExpectDeletions(ctx.key(), keys);
  return DeletePods(
             {ctx.client(), ctx.recorder(), TargetOf(rs)}, chosen,
             [&](const Pod& pod) { expectations_.DeletionObserved(ctx.key(), KeyOfPod(pod)); },
             DeleteIf::kUnreadyAsSeen)
      .status;
}

template <typename Set>
std::vector<PodPtr> ReplicaLoop<Set>::RelatedPods(const Set& rs) const {
  std::vector<PodPtr> related;
  const auto owner = ControllerOf(rs);
  std::vector<std::string> uids;
  if (owner)
    for (const auto& sibling : ControlledBy(sets_, std::string(owner->uid)))
      uids.push_back(sibling->metadata.uid);
  else
    uids.push_back(rs.metadata.uid);
  for (const std::string& uid : uids)
    for (PodPtr& pod : ControlledBy(pods_, uid))
      if (IsPodActive(*pod)) related.push_back(std::move(pod));
  return related;
}

template <typename Set>
std::vector<ObjectKey> ReplicaLoop<Set>::OwnersOf(const Pod& pod) const {
  if (const auto owner = ControllerOf(pod)) {
    if (owner->kind != KindTraits<Set>::kind) return {};
    const auto rs = sets_.Get(pod.metadata.namespace_, owner->name);
    if (!rs || rs->metadata.uid != owner->uid) return {};
    return {ObjectKey{pod.metadata.namespace_, std::string(owner->name)}};
  }
  std::vector<ObjectKey> keys;
  for (const auto& rs : sets_.List(pod.metadata.namespace_))
    if (Selects(*rs, pod.metadata.labels)) keys.push_back({rs->metadata.namespace_, rs->metadata.name});
  return keys;
}

template <typename Set>
std::vector<ObjectKey> ReplicaLoop<Set>::PodAdded(const Pod& pod) {
  // After a restart, the pod may first be seen when it is already terminating.
  if (IsDeleting(pod.metadata)) return PodDeleted(pod);
  std::vector<ObjectKey> owners = OwnersOf(pod);
  if (ControllerOf(pod))
    for (const ObjectKey& key : owners) expectations_.CreationObserved(key);
  return owners;
}

template <typename Set>
std::vector<ObjectKey> ReplicaLoop<Set>::PodUpdated(const Pod& old_pod, const Pod& pod) {
  std::vector<ObjectKey> owners;
  const auto before = ControllerOf(old_pod), after = ControllerOf(pod);
  if (before && (!after || before->uid != after->uid)) owners = OwnersOf(old_pod);
  if (IsDeleting(pod.metadata)) {
    for (ObjectKey& key : PodDeleted(pod)) owners.push_back(std::move(key));
    return owners;
  }
  // For an orphan, only changes that may make it match an owner matter.
  if (!after && !before && old_pod.metadata.labels == pod.metadata.labels) return owners;
  for (ObjectKey& key : OwnersOf(pod)) owners.push_back(std::move(key));
  return owners;
}

template <typename Set>
std::vector<ObjectKey> ReplicaLoop<Set>::PodDeleted(const Pod& pod) {
  if (!ControllerOf(pod)) return {};
  std::vector<ObjectKey> owners = OwnersOf(pod);
  for (const ObjectKey& key : owners) expectations_.DeletionObserved(key, KeyOfPod(pod));
  return owners;
}

// Expectations must be lowered before the key is queued, by the same call. A reconcile that still waits for
// them does nothing, and nothing would trigger it again.
template <typename Set>
EventHandler<Pod> PodHandler(const std::shared_ptr<ReplicaLoop<Set>>& loop,
                             const std::weak_ptr<Controller>& controller) {
  const auto enqueue = [controller](const std::vector<ObjectKey>& keys,
                                    Priority priority = Priority::kNormal) {
    if (const auto target = controller.lock())
      for (const ObjectKey& key : keys) target->Enqueue(key, priority);
  };
  EventHandler<Pod> handler;
  handler.on_add = [=](const PodPtr& pod, bool initial) {
    enqueue(loop->PodAdded(*pod), initial ? Priority::kLow : Priority::kNormal);
  };
  handler.on_update = [=](const PodPtr& old_pod, const PodPtr& pod) {
    enqueue(loop->PodUpdated(*old_pod, *pod));
  };
  handler.on_delete = [=](const PodPtr& pod, bool) { enqueue(loop->PodDeleted(*pod)); };
  return handler;
}

template <typename Set>
Status AddReplicaLoop(Manager& manager, std::string name, std::string event_source, int workers) {
  FLYBALL_TRY(AddOwnerIndex<Pod>(manager.informers()));
  FLYBALL_TRY(AddOwnerIndex<Set>(manager.informers()));
  const auto loop = std::make_shared<ReplicaLoop<Set>>(manager);
  std::shared_ptr<Controller> controller;
  FLYBALL_TRY(manager.For<Set>()
                  .Named(std::move(name))
                  .EventSource(std::move(event_source))
                  .Workers(workers)
                  .Reconcile([loop](const ObjectKey& key, Context& ctx) { return loop->Reconcile(key, ctx); },
                             &controller));
  controller->DependOn(manager.informers().For<Pod>().AddHandler(PodHandler(loop, controller)));
  return {};
}

}  // namespace

Status AddReplicaSetController(Manager& manager, int workers) {
  return AddReplicaLoop<ReplicaSet>(manager, "replicaset-controller", "replicaset-controller", workers);
}

Status AddReplicationControllerController(Manager& manager, int workers) {
  return AddReplicaLoop<ReplicationController>(manager, "replicationcontroller-controller",
                                               "replication-controller", workers);
}

}  // namespace flyball::controllers
