// One reconcile of one Deployment: the steps, each named after what it does.
#pragma once

#include <string>
#include <vector>

#include "controller/worker/controller.h"
#include "controllers/deployment/replica_set_sets.h"

namespace flyball::controllers {

// Confined to one reconcile.
class DeploymentSync {
 public:
  DeploymentSync(const Deployment& deployment, Context& ctx) : deployment_(deployment), ctx_(ctx) {}

  Result<Action> Run();

 private:
  Result<ReplicaSets> ClaimReplicaSets();
  // Records in the status that the Deployment was paused or resumed.
  Status NotePaused();

  // Makes the template and the annotations of an earlier revision the current ones, and clears the rollback
  // request. Revision 0 is the one before the current.
  Result<Action> RollBack(std::int64_t revision);
  ReplicaSetPtr RollbackTarget(std::int64_t revision) const;

  // rollout.latest is null unless it exists; `create` creates it.
  Result<Rollout> FindRollout(bool create);
  Result<ReplicaSetPtr> UpdateLatest(const ReplicaSetPtr& latest, std::int64_t revision);
  Result<ReplicaSetPtr> CreateLatest(const ReplicaSets& old, std::int64_t revision);
  Result<ReplicaSetPtr> ResolveNameClash(const ReplicaSet& wanted, const Error& clash);
  Status NoteCreateFailure(const std::string& name, const Error& error);
  Status NoteRevision(std::int64_t revision, const char* reason, const std::string& message);

  bool IsScalingEvent(const Rollout& rollout) const;
  Result<Action> ScaleOnly();
  Status ScaleProportionally(const Rollout& rollout);
  Status Spread(const Rollout& rollout);

  Result<Action> RollOver();
  Result<Action> Recreate();
  Result<bool> ScaleUpLatest(const Rollout& rollout);
  Result<bool> ScaleDownOld(const Rollout& rollout);
  Result<int> DropUnhealthy(ReplicaSets& old, int at_most);
  Result<bool> DropAvailable(const Rollout& rollout, ReplicaSets& old);
  bool OldPodsRun(const Rollout& rollout) const;

  // Returns true if the size changed.
  Result<bool> ScaleTo(ReplicaSet& rs, int replicas);
  // The same, but also writes if only its annotations (the requested number of pods) differ.
  Result<bool> Resize(ReplicaSet& rs, int replicas);
  Status DeleteOldHistory(const ReplicaSets& old);
  Result<Action> WriteRolloutStatus(const Rollout& rollout);
  Status WriteStatusOf(const DeploymentStatus& status);

  Deployment deployment_;  // as it is after the writes of this reconcile
  Context& ctx_;
  ReplicaSets claimed_;
};

}  // namespace flyball::controllers
