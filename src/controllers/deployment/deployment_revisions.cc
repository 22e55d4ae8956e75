// The ReplicaSet of the current template: finds, creates and numbers it. Also deletes old ones beyond the
// history limit.
#include <algorithm>
#include <limits>
#include <utility>

#include "controller/objects/condition.h"
#include "controller/objects/owner.h"
#include "controllers/deployment/annotations.h"
#include "controllers/deployment/deployment_status.h"
#include "controllers/deployment/deployment_sync.h"

namespace flyball::controllers {
namespace {

std::int64_t MaxRevision(const ReplicaSets& sets) {
  std::int64_t max = 0;
  for (const ReplicaSetPtr& rs : sets) max = std::max(max, RevisionOf(rs->metadata));
  return max;
}

ReplicaSet NewReplicaSet(const Deployment& deployment) {
  const std::string hash = TemplateHash(deployment.spec.template_, deployment.status.collision_count);
  ReplicaSet rs;
  rs.metadata = ChildOf(deployment, deployment.metadata.name + "-" + hash);
  rs.spec.replicas = 0;
  rs.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
  rs.spec.template_ = deployment.spec.template_;
  rs.spec.template_.metadata.labels[kPodTemplateHash] = hash;
  rs.metadata.labels = rs.spec.template_.metadata.labels;
  LabelSelector selector = *deployment.spec.selector;
  selector.match_labels[kPodTemplateHash] = hash;
  rs.spec.selector = std::move(selector);
  return rs;
}

bool CanBeForgotten(const ReplicaSet& rs) {
  return rs.status.replicas == 0 && SpecReplicas(rs) == 0 &&
         rs.metadata.generation <= rs.status.observed_generation && !IsDeleting(rs.metadata);
}

}  // namespace

Result<Rollout> DeploymentSync::FindRollout(bool create) {
  Rollout rollout;
  const ReplicaSetPtr latest = FindNew(deployment_, claimed_);
  for (const ReplicaSetPtr& rs : claimed_)
    if (rs != latest) rollout.old.push_back(rs);
  const std::int64_t revision = MaxRevision(rollout.old) + 1;
  if (latest) {
    FLYBALL_ASSIGN(rollout.latest, UpdateLatest(latest, revision));
  } else if (create) {
    FLYBALL_ASSIGN(rollout.latest, CreateLatest(rollout.old, revision));
    claimed_.push_back(rollout.latest);
  }
  return rollout;
}

Result<ReplicaSetPtr> DeploymentSync::UpdateLatest(const ReplicaSetPtr& latest, std::int64_t revision) {
  ReplicaSet wanted = *latest;
  bool changed = SetNewAnnotations(deployment_, wanted, revision);
  changed |= wanted.spec.min_ready_seconds != deployment_.spec.min_ready_seconds;
  wanted.spec.min_ready_seconds = deployment_.spec.min_ready_seconds;
  if (changed) {
    FLYBALL_ASSIGN(*latest, ctx_.client().Update(wanted));
  }
  const bool unknown =
      HasProgressDeadline(deployment_) && !FindCondition(deployment_.status.conditions, "Progressing");
  FLYBALL_TRY(NoteRevision(RevisionOf(latest->metadata), unknown ? kFoundNewReplicaSet : nullptr,
                           "Found new replica set \"" + latest->metadata.name + "\""));
  return latest;
}

Result<ReplicaSetPtr> DeploymentSync::CreateLatest(const ReplicaSets& old, std::int64_t revision) {
  ReplicaSet wanted = NewReplicaSet(deployment_);
  SetNewAnnotations(deployment_, wanted, revision);
  const int desired = DesiredReplicas(deployment_);
  SetReplicasAnnotations(wanted, desired, desired + LimitsOf(deployment_).max_surge);
  wanted.spec.replicas = NewReplicas(deployment_, old, wanted);
  auto created = ctx_.client().Create(wanted);
  if (!created && created.error().Is(Reason::kAlreadyExists))
    return ResolveNameClash(wanted, created.error());
  if (!created) {
    FLYBALL_TRY(NoteCreateFailure(wanted.metadata.name, created.error()));
    return Unexpected(created.error());
  }
  const std::string name = created->metadata.name;
  if (*wanted.spec.replicas > 0)
    ctx_.recorder().Normal(
        deployment_, "ScalingReplicaSet",
        "Scaled up replica set " + name + " from 0 to " + std::to_string(*wanted.spec.replicas));
  auto latest = std::make_shared<ReplicaSet>(std::move(*created));
  FLYBALL_TRY(NoteRevision(revision, HasProgressDeadline(deployment_) ? kNewReplicaSetCreated : nullptr,
                           "Created new replica set \"" + name + "\""));
  return latest;
}

// The name is taken: either by a ReplicaSet that we created earlier (the response was lost, or the cache is
// behind), or by another template with the same hash. In the second case the collision count gives the next
// attempt another name.
Result<ReplicaSetPtr> DeploymentSync::ResolveNameClash(const ReplicaSet& wanted, const Error& clash) {
  FLYBALL_ASSIGN(ReplicaSet taken,
                 ctx_.client().Get<ReplicaSet>(wanted.metadata.namespace_, wanted.metadata.name));
  if (IsControlledBy(taken, deployment_) && SameTemplate(taken.spec.template_, deployment_.spec.template_)) {
    auto latest = std::make_shared<ReplicaSet>(std::move(taken));
    FLYBALL_TRY(NoteRevision(RevisionOf(latest->metadata), nullptr, ""));
    return latest;
  }
  DeploymentStatus status = deployment_.status;
  status.collision_count = status.collision_count.value_or(0) + 1;
  FLYBALL_TRY(WriteStatusOf(status));
  return Unexpected(clash);
}

Status DeploymentSync::NoteCreateFailure(const std::string& name, const Error& error) {
  if (error.HasCause("NamespaceTerminating")) return {};
  const std::string message = "Failed to create new replica set \"" + name + "\": " + error.message();
  ctx_.recorder().Warning(deployment_, kFailedCreate, message);
  if (!HasProgressDeadline(deployment_)) return {};
  DeploymentStatus status = deployment_.status;
  SetDeploymentCondition(
      status, MakeCondition<DeploymentCondition>("Progressing", "False", kFailedCreate, message, ctx_.Now()));
  return WriteStatusOf(status);
}

// The revision is an annotation, but the server accepts annotations with the status, so one write suffices.
Status DeploymentSync::NoteRevision(std::int64_t revision, const char* reason, const std::string& message) {
  Deployment updated = deployment_;
  if (revision > 0) updated.metadata.annotations[kRevision] = std::to_string(revision);
  if (reason)
    SetDeploymentCondition(updated.status, MakeCondition<DeploymentCondition>("Progressing", "True", reason,
                                                                              message, ctx_.Now()));
  if (updated == deployment_) return {};
  FLYBALL_ASSIGN(deployment_, ctx_.client().UpdateStatus(updated));
  return {};
}

ReplicaSetPtr DeploymentSync::RollbackTarget(std::int64_t revision) const {
  ReplicaSets sets = claimed_;
  std::sort(sets.begin(), sets.end(), [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) {
    return RevisionOf(a->metadata) > RevisionOf(b->metadata);
  });
  if (revision == 0) return sets.size() > 1 ? sets[1] : nullptr;
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const ReplicaSetPtr& rs) {
    return RevisionOf(rs->metadata) == revision;
  });
  return found == sets.end() ? nullptr : *found;
}

Result<Action> DeploymentSync::RollBack(std::int64_t revision) {
  // The current template must be a revision too, because the previous one is counted from it.
  FLYBALL_TRY(FindRollout(true));
  const ReplicaSetPtr target = RollbackTarget(revision);
  Deployment wanted = deployment_;
  wanted.metadata.annotations.erase(kRollbackTo);
  const std::string name = "deployment \"" + deployment_.metadata.name + "\"";
  if (!target) {
    ctx_.recorder().Warning(
        deployment_, "DeploymentRollbackRevisionNotFound",
        revision == 0 ? "Unable to find last revision." : "Unable to find the revision to rollback to.");
  } else if (SameTemplate(target->spec.template_, deployment_.spec.template_)) {
    ctx_.recorder().Warning(deployment_, "DeploymentRollbackTemplateUnchanged",
                            "The rollback revision contains the same template as current " + name);
  } else {
    wanted.spec.template_ = target->spec.template_;
    wanted.spec.template_.metadata.labels.erase(kPodTemplateHash);
    CopyAnnotationsBack(*target, wanted);
    ctx_.recorder().Normal(
        deployment_, "DeploymentRollback",
        "Rolled back " + name + " to revision " + std::to_string(RevisionOf(target->metadata)));
  }
  FLYBALL_TRY(ctx_.client().Update(wanted));
  return Done();
}

Status DeploymentSync::DeleteOldHistory(const ReplicaSets& old) {
  const auto limit = deployment_.spec.revision_history_limit;
  if (!limit || *limit == std::numeric_limits<std::int32_t>::max()) return {};
  ReplicaSets kept = old;
  std::erase_if(kept, [](const ReplicaSetPtr& rs) { return IsDeleting(rs->metadata); });
  const auto surplus = static_cast<std::ptrdiff_t>(kept.size()) - *limit;
  if (surplus <= 0) return {};
  std::sort(kept.begin(), kept.end(), [](const ReplicaSetPtr& a, const ReplicaSetPtr& b) {
    return RevisionOf(a->metadata) < RevisionOf(b->metadata);
  });
  kept.resize(static_cast<std::size_t>(surplus));
  for (const ReplicaSetPtr& rs : kept) {
    if (!CanBeForgotten(*rs)) continue;
    const Status deleted = ctx_.client().Delete(*rs);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  }
  return {};
}

}  // namespace flyball::controllers
