// One reconcile of one Job.
//
// No pod is counted twice, whatever happens in between: a pod keeps the finalizer job-tracking until its end
// has been written to the status (its UID in uncountedTerminatedPods, or its index in completedIndexes); only
// then the finalizer goes; only when it has gone does the UID become a count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/worker/controller.h"
#include "controllers/job/index_set.h"
#include "controllers/job/job_pods.h"

namespace flyball::controllers {

// Confined to one reconcile.
class JobSync {
 public:
  JobSync(const Job& job, Context& ctx) : job_(job), ctx_(ctx) {}

  Result<Action> Run();

 private:
  Status ClaimPods();
  void CountPods();
  // True if the pod has ended and that is on record now, so that it may be released.
  bool CountEnded(const Pod& pod);
  void SetIndexes();

  // Whether, and how, the Job ends. Sets interim_.
  void DecideEnd();
  void EndWith(const char* type, const char* reason, std::string message);
  Status DeleteActive();
  // Makes as many pods active as there should be.
  Status ManagePods();
  Status RemoveSurplus(int count);
  Status AddMissing(int count);
  std::vector<int> MissingIndexes(int count) const;
  int WantedActive() const;
  // Of a Job that is backed off as a whole.
  Duration BackoffLeft() const;
  // With backoffLimitPerIndex each index is backed off by itself. Leaves those whose time has come.
  void DropIndexesBackedOff(std::vector<int>& indexes);
  void LookAgainIn(Duration time);
  void NoteSuspended();
  void DecideCompletion();

  Result<Action> WriteProgress();
  void SettleCounts();
  void Finish();
  Status WriteStatusIfChanged();
  Status RemoveTracking(const std::vector<PodPtr>& pods);
  bool IsTracked(const Pod& pod) const;
  bool IsUncounted(const std::string& uid) const;
  // The pod of the index that failed last; null if none has.
  const Pod* LastFailed(int index) const;

  Job job_;  // with the status as this reconcile builds it
  Context& ctx_;
  JobStatus written_;  // what the server has
  std::vector<PodPtr> pods_, active_;
  std::vector<PodPtr> ended_;  // counted now or before, and still with the finalizer
  IndexSet succeeded_indexes_, failed_indexes_;
  std::optional<JobCondition> interim_;  // SuccessCriteriaMet or FailureTarget, once either is decided
  std::optional<Duration> look_again_;
};

// Lets the pods of a Job that is gone go: nobody counts them any more.
Status ReleaseLeftPods(const ObjectKey& key, const std::string& job_uid, Context& ctx);

}  // namespace flyball::controllers
