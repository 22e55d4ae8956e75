// One reconcile of one StatefulSet. Pods are created from the first to the last, and deleted and updated from
// the last to the first. Each step waits until the previous pod is running and ready (unless
// podManagementPolicy is Parallel).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/objects/revision_history.h"
#include "controller/worker/controller.h"
#include "controllers/statefulset/stateful_pods.h"

namespace flyball::controllers {

// Confined to one reconcile.
class StatefulSetSync {
 public:
  StatefulSetSync(const StatefulSet& set, Context& ctx) : set_(set), ctx_(ctx) {}

  Result<Action> Run();

 private:
  Status ClaimPods();
  Status FindRevisions();
  Result<PodTemplateSpec> TemplateOf(const ControllerRevision& revision) const;
  void CountPods();

  // Whether to continue with the next pod, or to wait until something has changed.
  enum class Progress { kContinue, kWait };
  Status ManagePods();
  Result<Progress> ManageReplica(int ordinal);
  Result<Progress> ReplaceEnded(const Pod& pod);
  Result<Progress> MakePod(int ordinal);
  Result<Progress> RemoveSurplus(const Pod& pod);
  const Pod* FirstUnhealthy() const;
  Status RollUpdate();

  bool RunsOldRevision(int ordinal) const;
  Result<bool> MakeClaims(int ordinal);
  Status MakeClaim(const PersistentVolumeClaim& claim_template, int ordinal);
  Status UpdateClaims(const Pod& pod, int ordinal);
  Status DeletePod(const Pod& pod);
  void Discount(const Pod& pod);

  bool IsOrdered() const { return set_.spec.pod_management_policy != "Parallel"; }
  bool IsReadyLongEnough(const Pod& pod) const;
  void FinishUpdate();
  Result<Action> WriteStatusAndWait();
  Status DeleteHistory();

  StatefulSet set_;  // with the status as this reconcile builds it
  Context& ctx_;
  StatefulSetStatus known_;
  std::map<int, PodPtr> pods_;  // by ordinal, including surplus ones
  std::vector<RevisionPtr> revisions_;
  RevisionPtr current_, update_;
  bool look_again_ = false;
};

}  // namespace flyball::controllers
