// Decides how many pods a Job has at a time.
#include <algorithm>
#include <cmath>

#include "controller/pods/deletion_rank.h"
#include "controller/pods/pod_batch.h"
#include "controller/pods/pod_state.h"
#include "controllers/job/job_sync.h"

namespace flyball::controllers {
namespace {

// The most pods created or deleted by one reconcile (upstream: MaxPodCreateDeletePerSync).
constexpr int kMaxPerSync = 500;
// After a failure the next pod waits ten seconds, doubled with each further failure, at most ten minutes.
constexpr Duration kBackoff = std::chrono::seconds(10);
constexpr Duration kMaxBackoff = std::chrono::minutes(10);

Duration BackoffAfter(int failures) {
  return std::min<Duration>(kMaxBackoff, kBackoff * (1 << std::min(failures - 1, 20)));
}

}  // namespace

Status JobSync::DeleteActive() {
  const PodBatch batch{ctx_.client(), ctx_.recorder(), TargetOf(job_)};
  FLYBALL_TRY(DeletePods(batch, active_).status);
  // They are terminating now; each is counted when its end arrives through the watch.
  job_.status.terminating = job_.status.terminating.value_or(0) + static_cast<std::int32_t>(active_.size());
  job_.status.active = 0;
  job_.status.ready = 0;
  return {};
}

Status JobSync::ManagePods() {
  if (IsSuspended(job_)) return RemoveSurplus(static_cast<int>(active_.size()));
  const int wanted = WantedActive();
  const int active = static_cast<int>(active_.size());
  if (active > wanted) return RemoveSurplus(active - wanted);
  const int ending = ReplacesOnlyFailed(job_) ? job_.status.terminating.value_or(0) : 0;
  if (wanted - active - ending > 0) return AddMissing(std::min(wanted - active - ending, kMaxPerSync));
  return {};
}

int JobSync::WantedActive() const {
  const int succeeded =
      job_.status.succeeded + static_cast<int>(job_.status.uncounted_terminated_pods->succeeded.size());
  const int parallelism = job_.spec.parallelism.value_or(1);
  if (!job_.spec.completions) {
    // One success means that the work is done: running pods may finish, none is added.
    return succeeded > 0 ? std::min(parallelism, static_cast<int>(active_.size())) : parallelism;
  }
  const int left = *job_.spec.completions - succeeded - static_cast<int>(failed_indexes_.size());
  return std::max(0, std::min(left, parallelism));
}

// These are not failures: their finalizer is removed first, so that they are not counted.
Status JobSync::RemoveSurplus(int count) {
  const std::vector<PodPtr> chosen =
      PodsToDelete(active_, active_, static_cast<std::size_t>(std::min(count, kMaxPerSync)));
  if (chosen.empty()) return {};
  FLYBALL_TRY(RemoveTracking(chosen));
  FLYBALL_TRY(DeletePods({ctx_.client(), ctx_.recorder(), TargetOf(job_)}, chosen).status);
  job_.status.active -= static_cast<std::int32_t>(chosen.size());
  for (const PodPtr& pod : chosen)
    if (IsPodReady(*pod)) job_.status.ready = job_.status.ready.value_or(1) - 1;
  return {};
}

Status JobSync::AddMissing(int count) {
  if (!job_.spec.backoff_limit_per_index) {
    const Duration left = BackoffLeft();
    if (left > Duration::zero()) return LookAgainIn(left), Status();
  }
  std::vector<int> indexes(static_cast<std::size_t>(count), -1);
  if (IsIndexed(job_)) indexes = MissingIndexes(count);
  if (job_.spec.backoff_limit_per_index) DropIndexesBackedOff(indexes);
  const BatchResult made = CreatePods(
      {ctx_.client(), ctx_.recorder(), TargetOf(job_)}, static_cast<int>(indexes.size()), [&](int i) {
        const int index = indexes[static_cast<std::size_t>(i)];
        const Pod* failed = LastFailed(index);
        return NewJobPod(job_, index, failed ? FailuresWith(job_, *failed) : IndexFailures{});
      });
  job_.status.active += made.succeeded;
  return made.status;
}

std::vector<int> JobSync::MissingIndexes(int count) const {
  IndexSet taken = succeeded_indexes_;
  taken.insert(failed_indexes_.begin(), failed_indexes_.end());
  for (const PodPtr& pod : active_) taken.insert(IndexOf(*pod));
  std::vector<int> missing;
  for (int i = 0; i < job_.spec.completions.value_or(0) && static_cast<int>(missing.size()) < count; ++i)
    if (!taken.contains(i)) missing.push_back(i);
  return missing;
}

const Pod* JobSync::LastFailed(int index) const {
  const Pod* last = nullptr;
  if (index < 0) return last;
  for (const PodPtr& pod : pods_)
    if (IndexOf(*pod) == index && HasFailed(*pod, job_) &&
        (!last || FailuresBefore(*last).total() <= FailuresBefore(*pod).total()))
      last = pod.get();
  return last;
}

void JobSync::DropIndexesBackedOff(std::vector<int>& indexes) {
  const api::Time now = api::Time::From(ctx_.Now());
  std::erase_if(indexes, [&](int index) {
    const Pod* failed = LastFailed(index);
    if (!failed) return false;
    const TimePoint due =
        FinishTime(*failed, now).ToTimePoint() + BackoffAfter(FailuresWith(job_, *failed).total());
    if (due > ctx_.Now()) LookAgainIn(due - ctx_.Now());
    return due > ctx_.Now();
  });
}

void JobSync::LookAgainIn(Duration time) {
  look_again_ = look_again_ ? std::min(*look_again_, time) : time;
}

// Counted from the existing pods: failures since the last success.
Duration JobSync::BackoffLeft() const {
  const api::Time now = api::Time::From(ctx_.Now());
  api::Time last_success{}, last_failure{};
  for (const PodPtr& pod : pods_)
    if (pod->status.phase == "Succeeded") last_success = std::max(last_success, FinishTime(*pod, now));
  int failures = 0;
  for (const PodPtr& pod : pods_) {
    if (pod->status.phase != "Failed" || Judge(job_, *pod).action == FailureVerdict::Action::kIgnore)
      continue;
    const api::Time ended = FinishTime(*pod, now);
    if (ended <= last_success) continue;
    ++failures;
    last_failure = std::max(last_failure, ended);
  }
  if (failures == 0) return {};
  return last_failure.ToTimePoint() + BackoffAfter(failures) - ctx_.Now();
}

}  // namespace flyball::controllers
