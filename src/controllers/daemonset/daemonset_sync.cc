#include "controllers/daemonset/daemonset_sync.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "controller/objects/ownership.h"
#include "controller/objects/write_status.h"
#include "controller/pods/pod_batch.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

// The most pods created or deleted by one reconcile (upstream: BurstReplicas).
constexpr std::size_t kDaemonBurst = 250;
constexpr Duration kFirstWait = std::chrono::seconds(1);
constexpr Duration kLongestWait = std::chrono::minutes(15);

void SortOldestFirst(std::vector<PodPtr>& pods) {
  std::sort(pods.begin(), pods.end(), [](const PodPtr& a, const PodPtr& b) {
    const auto rank = [](const Pod& pod) {
      return std::tuple(pod.spec.node_name.empty(), pod.metadata.creation_timestamp, pod.metadata.name);
    };
    return rank(*a) < rank(*b);
  });
}

}  // namespace

Duration FailedPodBackoff::Turn(const std::string& key, TimePoint now) {
  MutexLock lock(mu_);
  const auto [entry, fresh] = entries_.try_emplace(key, Entry{now, kFirstWait});
  if (fresh) return {};
  const Duration left = entry->second.at + entry->second.wait - now;
  if (left > Duration::zero()) return left;
  // A node without failures for a long time starts over.
  const bool forgotten = now - entry->second.at > 2 * kLongestWait;
  entry->second = {now, forgotten ? kFirstWait : std::min(entry->second.wait * 2, kLongestWait)};
  return {};
}

Result<Action> DaemonSetSync::Run() {
  if (!set_.spec.selector || SelectsEverything(*set_.spec.selector)) {
    ctx_.recorder().Warning(set_, "SelectingAll",
                            "This daemon set is selecting all pods. A non-empty selector is required.");
    return Done();
  }
  if (IsDeleting(set_.metadata)) return Done();
  nodes_ = ctx_.lister<Node>().List();
  FLYBALL_TRY(ClaimPods());
  FLYBALL_TRY(FindRevision());
  PlanNodes();
  // Nodes first, then the update, each starting from what the other left; one of them per reconcile.
  if (create_on_.empty() && remove_.empty() && set_.spec.update_strategy.type == "RollingUpdate")
    PlanUpdate();
  const Status done = Execute();
  CountNodes();
  FLYBALL_ASSIGN(const Action action, WriteStatusAndWait());
  if (!done) return Unexpected(done.error());
  FLYBALL_TRY(DeleteHistory());
  return action;
}

Status DaemonSetSync::ClaimPods() {
  FLYBALL_ASSIGN(const auto claimed, Claim<Pod>(set_, ctx_));
  for (const PodPtr& pod : claimed)
    if (const std::string node = TargetNode(*pod); !node.empty()) pods_[node].push_back(pod);
  return {};
}

Status DaemonSetSync::FindRevision() {
  revisions_ = ControlledBy(ctx_.lister<ControllerRevision>(), set_.metadata.uid);
  std::int32_t collisions = set_.status.collision_count.value_or(0);
  RevisionRequest request{ChildOf(set_), kDaemonHash, TemplatePatch(set_.spec.template_)};
  request.metadata.labels = set_.spec.template_.metadata.labels;
  request.metadata.annotations = set_.metadata.annotations;
  FLYBALL_ASSIGN(const RevisionPtr current, EnsureRevision(ctx_.client(), revisions_, request, collisions));
  if (collisions > 0) set_.status.collision_count = collisions;
  hash_ = current->metadata.labels.at(kDaemonHash);
  return {};
}

void DaemonSetSync::PlanNodes() {
  for (const auto& node : nodes_) {
    const auto found = pods_.find(node->metadata.name);
    PlanNode(*node, found == pods_.end() ? std::vector<PodPtr>() : found->second);
  }
  // Not bound, and meant for a node that is gone: nobody will ever place them.
  for (const auto& [name, pods] : pods_)
    if (!ctx_.lister<Node>().Get(name))
      for (const PodPtr& pod : pods)
        if (pod->spec.node_name.empty() && !IsDeleting(pod->metadata)) remove_.push_back(pod);
}

void DaemonSetSync::PlanNode(const Node& node, std::vector<PodPtr> pods) {
  const DaemonPlacement placement = PlacementOn(set_, node);
  if (placement.run && pods.empty()) {
    create_on_.push_back(node.metadata.name);
  } else if (placement.stay) {
    std::vector<PodPtr> running = DropEnded(node, pods);
    SortOldestFirst(running);
    if (MaxSurge() > 0)
      DropReplaced(running);
    else
      DropSurplus(std::move(running));
  } else {
    for (const PodPtr& pod : pods)
      if (!IsDeleting(pod->metadata)) remove_.push_back(pod);
  }
}

// The pods that keep running.
std::vector<PodPtr> DaemonSetSync::DropEnded(const Node& node, const std::vector<PodPtr>& pods) {
  std::vector<PodPtr> running;
  for (const PodPtr& pod : pods) {
    if (IsDeleting(pod->metadata)) continue;
    const std::string subject = " daemon pod " + pod->metadata.namespace_ + "/" + pod->metadata.name +
                                " on node " + node.metadata.name + ", will try to ";
    if (pod->status.phase == "Failed") {
      const Duration wait = backoff_.Turn(set_.metadata.uid + "/" + node.metadata.name, ctx_.Now());
      if (wait > Duration::zero()) {
        look_again_ = std::min(look_again_, wait);
        continue;
      }
      ctx_.recorder().Warning(set_, "FailedDaemonPod", "Found failed" + subject + "kill it");
      remove_.push_back(pod);
    } else if (pod->status.phase == "Succeeded") {
      ctx_.recorder().Normal(set_, "SucceededDaemonPod", "Found succeeded" + subject + "delete it");
      remove_.push_back(pod);
    } else {
      running.push_back(pod);
    }
  }
  return running;
}

void DaemonSetSync::DropSurplus(std::vector<PodPtr> running) {
  for (std::size_t i = 1; i < running.size(); ++i) remove_.push_back(std::move(running[i]));
}

// With surge, an old and a new pod may coexist until the old one stops working or the new one works.
void DaemonSetSync::DropReplaced(const std::vector<PodPtr>& running) {
  PodPtr oldest_new, oldest_old;
  for (const PodPtr& pod : running) {
    PodPtr& oldest = IsUpToDate(set_, *pod, hash_) ? oldest_new : oldest_old;
    if (oldest)
      remove_.push_back(pod);
    else
      oldest = pod;
  }
  if (oldest_new && oldest_old && (!IsPodReady(*oldest_old) || IsAvailable(*oldest_new)))
    remove_.push_back(oldest_old);
}

bool DaemonSetSync::IsAvailable(const Pod& pod) const {
  return IsPodAvailable(pod, set_.spec.min_ready_seconds, ctx_.Now());
}

int DaemonSetSync::DesiredNodes() const {
  return static_cast<int>(std::count_if(nodes_.begin(), nodes_.end(),
                                        [&](const auto& node) { return PlacementOn(set_, *node).run; }));
}

int DaemonSetSync::MaxSurge() const {
  if (set_.spec.update_strategy.type != "RollingUpdate") return 0;
  return DaemonLimitsOf(set_, static_cast<int>(nodes_.size())).max_surge;
}

void DaemonSetSync::PlanUpdate() {
  const DaemonLimits limits = DaemonLimitsOf(set_, DesiredNodes());
  if (limits.max_surge > 0)
    PlanSurge(limits.max_surge);
  else
    PlanReplacements(limits.max_unavailable);
}

DaemonSetSync::OldAndNew DaemonSetSync::FindOldAndNew(const std::vector<PodPtr>& pods) const {
  OldAndNew found;
  for (const PodPtr& pod : pods) {
    if (IsDeleting(pod->metadata)) continue;
    PodPtr& place = IsUpToDate(set_, *pod, hash_) ? found.new_pod : found.old_pod;
    found.clear &= place == nullptr;
    place = pod;
  }
  return found;
}

// Old pods that do not work are replaced at once; of those that work, as many as may be unavailable.
void DaemonSetSync::PlanReplacements(int max_unavailable) {
  int unavailable = 0;
  std::vector<PodPtr> candidates;
  for (const auto& [node, pods] : pods_) {
    const OldAndNew found = FindOldAndNew(pods);
    if (!found.clear || (found.old_pod == nullptr) == (found.new_pod == nullptr))
      ++unavailable;
    else if (found.new_pod)
      unavailable += IsAvailable(*found.new_pod) ? 0 : 1;
    else if (!IsAvailable(*found.old_pod))
      remove_.push_back(found.old_pod);
    else
      candidates.push_back(found.old_pod);
  }
  const int room = std::clamp(max_unavailable - unavailable, 0, static_cast<int>(candidates.size()));
  remove_.insert(remove_.end(), candidates.begin(), candidates.begin() + room);
}

void DaemonSetSync::PlanSurge(int max_surge) {
  int surging = 0;
  std::vector<std::string> candidates;
  for (const auto& [node, pods] : pods_) {
    const OldAndNew found = FindOldAndNew(pods);
    if (!found.clear)
      ++surging;
    else if (!found.old_pod)
      continue;
    else if (found.new_pod && IsAvailable(*found.new_pod))
      remove_.push_back(found.old_pod);
    else if (found.new_pod)
      ++surging;
    else if (!IsAvailable(*found.old_pod))
      create_on_.push_back(node);
    else
      candidates.push_back(node);
  }
  const int room = std::clamp(max_surge - surging, 0, static_cast<int>(candidates.size()));
  create_on_.insert(create_on_.end(), candidates.begin(), candidates.begin() + room);
}

Status DaemonSetSync::Execute() {
  const PodBatch batch{ctx_.client(), ctx_.recorder(), TargetOf(set_)};
  if (create_on_.size() > kDaemonBurst) create_on_.resize(kDaemonBurst);
  if (remove_.size() > kDaemonBurst) remove_.resize(kDaemonBurst);
  const BatchResult made = CreatePods(batch, static_cast<int>(create_on_.size()), [this](int i) {
    return NewDaemonPod(set_, create_on_[static_cast<std::size_t>(i)], hash_);
  });
  FLYBALL_TRY(DeletePods(batch, remove_).status);
  return made.status;
}

void DaemonSetSync::CountNodes() {
  DaemonSetStatus status;
  status.collision_count = set_.status.collision_count;
  status.conditions = set_.status.conditions;
  status.observed_generation = set_.metadata.generation;
  for (const auto& node : nodes_) {
    const bool wanted = PlacementOn(set_, *node).run;
    if (wanted) ++status.desired_number_scheduled;
    const auto found = pods_.find(node->metadata.name);
    if (found == pods_.end()) continue;
    if (!wanted) {
      ++status.number_misscheduled;
      continue;
    }
    ++status.current_number_scheduled;
    std::vector<PodPtr> pods = found->second;
    SortOldestFirst(pods);
    const Pod& pod = *pods[0];
    if (IsPodReady(pod)) ++status.number_ready;
    if (IsAvailable(pod)) ++status.number_available;
    if (IsUpToDate(set_, pod, hash_)) ++status.updated_number_scheduled;
  }
  status.number_unavailable = status.desired_number_scheduled - status.number_available;
  set_.status = std::move(status);
}

Result<Action> DaemonSetSync::WriteStatusAndWait() {
  const auto known = ctx_.lister<DaemonSet>().Get(ctx_.key());
  if (known && set_.status != known->status) {
    const auto written = WriteStatus(ctx_.client(), set_);
    if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  }
  for (const auto& [node, pods] : pods_)
    for (const PodPtr& pod : pods) {
      const auto left = TimeUntilAvailable(*pod, set_.spec.min_ready_seconds, ctx_.Now());
      if (left && *left > Duration::zero()) look_again_ = std::min(look_again_, *left);
    }
  return look_again_ == Duration::max() ? Done() : RequeueAfter(look_again_);
}

Status DaemonSetSync::DeleteHistory() {
  std::vector<std::string> live{hash_};
  for (const auto& [node, pods] : pods_)
    for (const PodPtr& pod : pods)
      if (const auto found = pod->metadata.labels.find(kDaemonHash); found != pod->metadata.labels.end())
        live.push_back(found->second);
  return DeleteOldRevisions(ctx_.client(), revisions_, live, set_.spec.revision_history_limit.value_or(10));
}

}  // namespace flyball::controllers
