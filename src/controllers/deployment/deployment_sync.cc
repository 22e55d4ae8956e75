#include "controllers/deployment/deployment_sync.h"

#include <algorithm>
#include <utility>

#include "controller/objects/condition.h"
#include "controller/objects/ownership.h"
#include "controller/objects/write_status.h"
#include "controller/pods/pod_state.h"
#include "controllers/deployment/annotations.h"
#include "controllers/deployment/deployment_status.h"

namespace flyball::controllers {

Result<Action> DeploymentSync::Run() {
  if (!deployment_.spec.selector || SelectsEverything(*deployment_.spec.selector)) {
    ctx_.recorder().Warning(deployment_, "SelectingAll",
                            "This deployment is selecting all pods. A non-empty selector is required.");
    DeploymentStatus seen = deployment_.status;
    seen.observed_generation = std::max(seen.observed_generation, deployment_.metadata.generation);
    FLYBALL_TRY(WriteStatusOf(seen));
    return Done();
  }
  FLYBALL_ASSIGN(claimed_, ClaimReplicaSets());
  if (IsDeleting(deployment_.metadata)) {
    FLYBALL_ASSIGN(const Rollout rollout, FindRollout(false));
    FLYBALL_TRY(WriteStatusOf(CountedStatus(deployment_, rollout, ctx_.Now())));
    return Done();
  }
  FLYBALL_TRY(NotePaused());
  if (deployment_.spec.paused) return ScaleOnly();
  if (const auto revision = IntAnnotation(deployment_.metadata, kRollbackTo)) return RollBack(*revision);
  FLYBALL_ASSIGN(const Rollout rollout, FindRollout(false));
  if (IsScalingEvent(rollout)) return ScaleOnly();
  return IsRollingUpdate(deployment_) ? RollOver() : Recreate();
}

Result<ReplicaSets> DeploymentSync::ClaimReplicaSets() {
  FLYBALL_ASSIGN(const auto claimed, Claim<ReplicaSet>(deployment_, ctx_));
  ReplicaSets sets;
  for (const auto& rs : claimed) sets.push_back(std::make_shared<ReplicaSet>(*rs));
  return sets;
}

Status DeploymentSync::NotePaused() {
  if (!HasProgressDeadline(deployment_)) return {};
  const DeploymentCondition* progress = FindCondition(deployment_.status.conditions, "Progressing");
  // A failed rollout stays failed, paused or not.
  if (progress && progress->reason == kTimedOut) return {};
  const bool noted = progress && progress->reason == kPaused;
  if (noted == deployment_.spec.paused) return {};
  DeploymentStatus status = deployment_.status;
  SetDeploymentCondition(status,
                         deployment_.spec.paused
                             ? MakeCondition<DeploymentCondition>("Progressing", "Unknown", kPaused,
                                                                  "Deployment is paused", ctx_.Now())
                             : MakeCondition<DeploymentCondition>("Progressing", "Unknown", kResumed,
                                                                  "Deployment is resumed", ctx_.Now()));
  return WriteStatusOf(status);
}

// If the size changes while several ReplicaSets have pods, the change is shared among them; it does not
// continue the rollout.
bool DeploymentSync::IsScalingEvent(const Rollout& rollout) const {
  for (const ReplicaSetPtr& rs : Active(rollout.all())) {
    const auto desired = IntAnnotation(rs->metadata, kDesiredReplicas);
    if (desired && *desired != DesiredReplicas(deployment_)) return true;
  }
  return false;
}

Result<Action> DeploymentSync::ScaleOnly() {
  FLYBALL_ASSIGN(const Rollout rollout, FindRollout(false));
  FLYBALL_TRY(ScaleProportionally(rollout));
  if (deployment_.spec.paused) FLYBALL_TRY(DeleteOldHistory(rollout.old));
  FLYBALL_TRY(WriteStatusOf(CountedStatus(deployment_, rollout, ctx_.Now())));
  return Done();
}

Result<Action> DeploymentSync::RollOver() {
  FLYBALL_ASSIGN(const Rollout rollout, FindRollout(true));
  FLYBALL_ASSIGN(const bool scaled_up, ScaleUpLatest(rollout));
  if (scaled_up) return WriteRolloutStatus(rollout);
  FLYBALL_ASSIGN(const bool scaled_down, ScaleDownOld(rollout));
  if (scaled_down) return WriteRolloutStatus(rollout);
  if (IsComplete(deployment_, deployment_.status)) FLYBALL_TRY(DeleteOldHistory(rollout.old));
  return WriteRolloutStatus(rollout);
}

Result<Action> DeploymentSync::Recreate() {
  FLYBALL_ASSIGN(Rollout rollout, FindRollout(false));
  bool scaled_down = false;
  for (const ReplicaSetPtr& rs : Active(rollout.old)) {
    FLYBALL_ASSIGN(const bool scaled, ScaleTo(*rs, 0));
    scaled_down |= scaled;
  }
  if (scaled_down || OldPodsRun(rollout)) return WriteRolloutStatus(rollout);
  if (!rollout.latest) {
    FLYBALL_ASSIGN(rollout, FindRollout(true));
  }
  FLYBALL_TRY(ScaleTo(*rollout.latest, DesiredReplicas(deployment_)));
  if (IsComplete(deployment_, deployment_.status)) FLYBALL_TRY(DeleteOldHistory(rollout.old));
  return WriteRolloutStatus(rollout);
}

bool DeploymentSync::OldPodsRun(const Rollout& rollout) const {
  if (StatusReplicas(rollout.old) > 0) return true;
  // Terminating pods are in no count any more, but they still run.
  for (const ReplicaSetPtr& rs : rollout.old)
    for (const auto& pod : ControlledBy(ctx_.lister<Pod>(), rs->metadata.uid))
      if (!IsPodFinished(*pod)) return true;
  return false;
}

Result<Action> DeploymentSync::WriteRolloutStatus(const Rollout& rollout) {
  const DeploymentStatus status = RolloutStatus(deployment_, rollout, ctx_.Now());
  FLYBALL_TRY(WriteStatusOf(status));
  const auto left = TimeUntilDeadline(deployment_, status, ctx_.Now());
  return left ? RequeueAfter(*left) : Done();
}

Status DeploymentSync::WriteStatusOf(const DeploymentStatus& status) {
  if (status == deployment_.status) return {};
  Deployment updated = deployment_;
  updated.status = status;
  FLYBALL_ASSIGN(deployment_, ctx_.client().UpdateStatus(updated));
  return {};
}

}  // namespace flyball::controllers
