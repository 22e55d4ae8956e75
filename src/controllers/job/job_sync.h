// One reconcile of one Job.
//
// No pod is counted twice, whatever happens in between. A pod keeps the finalizer job-tracking until its end
// has been written to the status (its UID in uncountedTerminatedPods, or its index in completedIndexes). Only
// then is the finalizer removed, and only after that does the UID become a count.
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
  // Returns true if the pod has ended and this has been recorded, so that it may be released.
  bool CountEnded(const Pod& pod);
  void SetIndexes();

  // Decides whether and how the Job ends. Sets interim_.
  void DecideEnd();
  void EndWith(const char* type, const char* reason, std::string message);
  Status DeleteActive();
  // Makes as many pods active as there should be.
  Status ManagePods();
  Status RemoveSurplus(int count);
  Status AddMissing(int count);
  std::vector<int> MissingIndexes(int count) const;
  int WantedActive() const;
  // For a Job with one back-off for all pods.
  Duration BackoffLeft() const;
  // With backoffLimitPerIndex, each index has its own back-off. Keeps only the indexes whose waiting time is
  // over.
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
  // The pod of the index that failed last; null if none failed.
  const Pod* LastFailed(int index) const;

  Job job_;  // with the status as this reconcile builds it
  Context& ctx_;
  JobStatus written_;  // as stored on the server
  std::vector<PodPtr> pods_, active_;
  std::vector<PodPtr> ended_;  // counted now or before, and still with the finalizer
  IndexSet succeeded_indexes_, failed_indexes_;
  std::optional<JobCondition> interim_;  // SuccessCriteriaMet or FailureTarget, once either is decided
  std::optional<Duration> look_again_;
};

// Releases the pods of a Job that is gone, because nobody counts them any more.
Status ReleaseLeftPods(const ObjectKey& key, const std::string& job_uid, Context& ctx);

}  // namespace flyball::controllers
