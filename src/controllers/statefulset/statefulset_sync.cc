#include "controllers/statefulset/statefulset_sync.h"

#include <algorithm>
#include <utility>

#include "controller/objects/ownership.h"
#include "controller/objects/write_status.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kHashLabel[] = "controller.kubernetes.io/hash";
// A claim of an earlier pod is being deleted. Nothing notifies us when it is gone.
constexpr Duration kClaimRetry = std::chrono::seconds(1);

bool IsRunningAndReady(const Pod& pod) {
  return pod.status.phase == "Running" && IsPodReady(pod);
}

}  // namespace

Result<Action> StatefulSetSync::Run() {
  known_ = set_.status;
  if (!set_.spec.selector || SelectsEverything(*set_.spec.selector)) return Done();
  FLYBALL_TRY(ClaimPods());
  FLYBALL_TRY(FindRevisions());
  CountPods();
  Status managed;
  if (!IsDeleting(set_.metadata)) {
    managed = ManagePods();
    FinishUpdate();
  }
  FLYBALL_ASSIGN(const Action action, WriteStatusAndWait());
  if (!managed) return Unexpected(managed.error());
  FLYBALL_TRY(DeleteHistory());
  return action;
}

Status StatefulSetSync::ClaimPods() {
  FLYBALL_ASSIGN(const auto claimed,
                 Claim<Pod>(set_, ctx_, [this](const Pod& pod) { return OrdinalOf(set_, pod).has_value(); }));
  for (const PodPtr& pod : claimed) pods_[*OrdinalOf(set_, *pod)] = pod;
  return {};
}

Status StatefulSetSync::FindRevisions() {
  revisions_ = ControlledBy(ctx_.lister<ControllerRevision>(), set_.metadata.uid);
  std::int32_t collisions = set_.status.collision_count.value_or(0);
  RevisionRequest request{ChildOf(set_), kHashLabel, TemplatePatch(set_.spec.template_)};
  request.metadata.labels = set_.spec.template_.metadata.labels;
  request.metadata.annotations = set_.metadata.annotations;
  FLYBALL_ASSIGN(update_, EnsureRevision(ctx_.client(), revisions_, request, collisions));
  current_ = update_;
  for (const RevisionPtr& revision : revisions_)
    if (revision->metadata.name == set_.status.current_revision &&
        revision->metadata.name != update_->metadata.name)
      current_ = revision;
  set_.status.collision_count = collisions;
  set_.status.current_revision = current_->metadata.name;
  set_.status.update_revision = update_->metadata.name;
  return {};
}

void StatefulSetSync::CountPods() {
  StatefulSetStatus& status = set_.status;
  status.observed_generation = set_.metadata.generation;
  status.replicas = status.ready_replicas = status.available_replicas = 0;
  status.current_replicas = status.updated_replicas = 0;
  for (const auto& [ordinal, pod] : pods_) {
    ++status.replicas;
    if (IsRunningAndReady(*pod)) ++status.ready_replicas;
    if (IsReadyLongEnough(*pod)) ++status.available_replicas;
    if (IsDeleting(pod->metadata)) continue;
    if (RevisionOfPod(*pod) == current_->metadata.name) ++status.current_replicas;
    if (RevisionOfPod(*pod) == update_->metadata.name) ++status.updated_replicas;
  }
}

bool StatefulSetSync::IsReadyLongEnough(const Pod& pod) const {
  return IsRunningAndReady(pod) && IsPodAvailable(pod, set_.spec.min_ready_seconds, ctx_.Now());
}

Status StatefulSetSync::ManagePods() {
  const int first = StartOrdinal(set_), last = first + StatefulReplicas(set_);
  for (int ordinal = first; ordinal < last; ++ordinal) {
    FLYBALL_ASSIGN(const Progress progress, ManageReplica(ordinal));
    if (progress == Progress::kWait) return {};
  }
  for (auto it = pods_.rbegin(); it != pods_.rend(); ++it) {
    if (IsInRange(set_, it->first)) continue;
    FLYBALL_TRY(UpdateClaims(*it->second, it->first));
    FLYBALL_ASSIGN(const Progress progress, RemoveSurplus(*it->second));
    if (progress == Progress::kWait) return {};
  }
  return set_.spec.update_strategy.type == "OnDelete" ? Status() : RollUpdate();
}

Result<StatefulSetSync::Progress> StatefulSetSync::ManageReplica(int ordinal) {
  const auto found = pods_.find(ordinal);
  if (found == pods_.end()) return MakePod(ordinal);
  const Pod& pod = *found->second;
  if (IsPodFinished(pod)) return ReplaceEnded(pod);
  if (pod.status.phase == "Pending" && !IsDeleting(pod.metadata)) FLYBALL_TRY(MakeClaims(ordinal));
  if (IsOrdered() && (IsDeleting(pod.metadata) || !IsReadyLongEnough(pod))) return Progress::kWait;
  if (!IsDeleting(pod.metadata)) FLYBALL_TRY(UpdateClaims(pod, ordinal));
  return Progress::kContinue;
}

// It is created again under its name once it is gone.
Result<StatefulSetSync::Progress> StatefulSetSync::ReplaceEnded(const Pod& pod) {
  if (!IsDeleting(pod.metadata)) {
    Discount(pod);
    FLYBALL_TRY(DeletePod(pod));
  }
  return IsOrdered() ? Progress::kWait : Progress::kContinue;
}

// Below the partition, or not reached by the update yet.
bool StatefulSetSync::RunsOldRevision(int ordinal) const {
  const StatefulSetUpdateStrategy& strategy = set_.spec.update_strategy;
  if (strategy.rolling_update)
    return ordinal < StartOrdinal(set_) + strategy.rolling_update->partition.value_or(0);
  return strategy.type == "RollingUpdate" && ordinal < StartOrdinal(set_) + set_.status.current_replicas;
}

Result<PodTemplateSpec> StatefulSetSync::TemplateOf(const ControllerRevision& revision) const {
  json::Value body = revision.data["spec"]["template"];
  body.as_object().Erase("$patch");
  PodTemplateSpec pod_template;
  FLYBALL_TRY(FromJson(body, &pod_template));
  return pod_template;
}

Result<StatefulSetSync::Progress> StatefulSetSync::MakePod(int ordinal) {
  FLYBALL_ASSIGN(const bool claims_are_ours, MakeClaims(ordinal));
  if (!claims_are_ours) {
    look_again_ = true;
    return Progress::kWait;
  }
  const ControllerRevision& revision = RunsOldRevision(ordinal) ? *current_ : *update_;
  FLYBALL_ASSIGN(const PodTemplateSpec pod_template, TemplateOf(revision));
  const Pod pod = NewStatefulPod(set_, pod_template, ordinal, revision.metadata.name);
  const std::string subject = "Create Pod " + pod.metadata.name + " in StatefulSet " + set_.metadata.name;
  const auto made = ctx_.client().Create(pod);
  if (!made && !made.error().HasCause("NamespaceTerminating"))
    ctx_.recorder().Warning(set_, "FailedCreate", subject + " failed error: " + made.error().message());
  if (!made) return Unexpected(made.error());
  ctx_.recorder().Normal(set_, "SuccessfulCreate", subject + " successful");
  ++set_.status.replicas;
  if (revision.metadata.name == current_->metadata.name) ++set_.status.current_replicas;
  if (revision.metadata.name == update_->metadata.name) ++set_.status.updated_replicas;
  return IsOrdered() ? Progress::kWait : Progress::kContinue;
}

// Returns false if one of them still belongs to an earlier pod.
Result<bool> StatefulSetSync::MakeClaims(int ordinal) {
  const auto pod = pods_.find(ordinal);
  const std::string uid = pod == pods_.end() ? "" : pod->second->metadata.uid;
  for (const PersistentVolumeClaim& claim_template : set_.spec.volume_claim_templates) {
    const std::string name = ClaimName(set_, claim_template, ordinal);
    const auto known = ctx_.lister<PersistentVolumeClaim>().Get(set_.metadata.namespace_, name);
    if (!known)
      FLYBALL_TRY(MakeClaim(claim_template, ordinal));
    else if (IsDeleting(known->metadata) ||
             IsStale(*known, set_.metadata.name + "-" + std::to_string(ordinal), uid))
      return false;
  }
  return true;
}

Status StatefulSetSync::MakeClaim(const PersistentVolumeClaim& claim_template, int ordinal) {
  const PersistentVolumeClaim claim = NewClaim(set_, claim_template, ordinal);
  const std::string subject = "Create Claim " + claim.metadata.name + " Pod " + set_.metadata.name + "-" +
                              std::to_string(ordinal) + " in StatefulSet " + set_.metadata.name;
  const auto made = ctx_.client().Create(claim);
  if (made) {
    ctx_.recorder().Normal(set_, "SuccessfulCreate", subject + " success");
    return {};
  }
  if (made.error().Is(Reason::kAlreadyExists)) return {};
  if (!made.error().HasCause("NamespaceTerminating"))
    ctx_.recorder().Warning(set_, "FailedCreate", subject + " failed error: " + made.error().message());
  return Unexpected(made.error());
}

Status StatefulSetSync::UpdateClaims(const Pod& pod, int ordinal) {
  for (const PersistentVolumeClaim& claim_template : set_.spec.volume_claim_templates) {
    const auto known = ctx_.lister<PersistentVolumeClaim>().Get(set_.metadata.namespace_,
                                                                ClaimName(set_, claim_template, ordinal));
    if (!known || IsDeleting(known->metadata)) continue;
    PersistentVolumeClaim claim = *known;
    if (!SetClaimOwners(set_, &pod, ordinal, claim)) continue;
    const auto written = ctx_.client().Update(claim);
    if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  }
  return {};
}

Result<StatefulSetSync::Progress> StatefulSetSync::RemoveSurplus(const Pod& pod) {
  if (IsDeleting(pod.metadata)) return IsOrdered() ? Progress::kWait : Progress::kContinue;
  // Waits for an unhealthy pod, unless it is the first unhealthy one, which may never become healthy.
  if (IsOrdered() && !IsReadyLongEnough(pod) && FirstUnhealthy() != &pod) return Progress::kWait;
  Discount(pod);
  FLYBALL_TRY(DeletePod(pod));
  return IsOrdered() ? Progress::kWait : Progress::kContinue;
}

const Pod* StatefulSetSync::FirstUnhealthy() const {
  for (const auto& [ordinal, pod] : pods_)
    if (!IsReadyLongEnough(*pod) || IsDeleting(pod->metadata)) return pod.get();
  return nullptr;
}

// From the last pod down to the partition: deletes the first with another revision; waits for an unhealthy
// one.
Status StatefulSetSync::RollUpdate() {
  const auto& rolling = set_.spec.update_strategy.rolling_update;
  const int partition = StartOrdinal(set_) + (rolling ? rolling->partition.value_or(0) : 0);
  for (int ordinal = StartOrdinal(set_) + StatefulReplicas(set_) - 1; ordinal >= partition; --ordinal) {
    const auto found = pods_.find(ordinal);
    if (found == pods_.end()) return {};
    const Pod& pod = *found->second;
    if (RevisionOfPod(pod) != update_->metadata.name && !IsDeleting(pod.metadata)) {
      Discount(pod);
      return DeletePod(pod);
    }
    if (!IsRunningAndReady(pod) || IsDeleting(pod.metadata)) return {};
  }
  return {};
}

void StatefulSetSync::Discount(const Pod& pod) {
  if (RevisionOfPod(pod) == current_->metadata.name) --set_.status.current_replicas;
  if (RevisionOfPod(pod) == update_->metadata.name) --set_.status.updated_replicas;
}

Status StatefulSetSync::DeletePod(const Pod& pod) {
  const std::string subject = "Delete Pod " + pod.metadata.name + " in StatefulSet " + set_.metadata.name;
  const Status deleted = ctx_.client().Delete(pod);
  if (deleted) {
    ctx_.recorder().Normal(set_, "SuccessfulDelete", subject + " successful");
    return {};
  }
  if (deleted.error().Is(Reason::kNotFound)) return {};
  ctx_.recorder().Warning(set_, "FailedDelete", subject + " failed error: " + deleted.error().message());
  return deleted;
}

// All pods have the update revision: from now on it is the current one.
void StatefulSetSync::FinishUpdate() {
  StatefulSetStatus& status = set_.status;
  const int wanted = StatefulReplicas(set_);
  if (set_.spec.update_strategy.type != "RollingUpdate" || status.updated_replicas != wanted ||
      status.ready_replicas != wanted || status.replicas != wanted)
    return;
  status.current_revision = status.update_revision;
  status.current_replicas = status.updated_replicas;
}

Result<Action> StatefulSetSync::WriteStatusAndWait() {
  if (set_.status != known_) {
    const auto written = WriteStatus(ctx_.client(), set_);
    if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  }
  Duration next = look_again_ ? kClaimRetry : Duration::max();
  for (const auto& [ordinal, pod] : pods_) {
    const auto left = TimeUntilAvailable(*pod, set_.spec.min_ready_seconds, ctx_.Now());
    if (left && *left > Duration::zero()) next = std::min(next, *left);
  }
  return next == Duration::max() ? Done() : RequeueAfter(next);
}

Status StatefulSetSync::DeleteHistory() {
  std::vector<std::string> live{set_.status.current_revision, set_.status.update_revision};
  for (const auto& [ordinal, pod] : pods_) live.push_back(RevisionOfPod(*pod));
  return DeleteOldRevisions(ctx_.client(), revisions_, live, set_.spec.revision_history_limit.value_or(10));
}

}  // namespace flyball::controllers
