#include "controllers/job/job_sync.h"

#include <algorithm>
#include <utility>

#include "controller/objects/condition.h"
#include "controller/objects/ownership.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kFailureTarget[] = "FailureTarget";
constexpr char kSuccessCriteriaMet[] = "SuccessCriteriaMet";
// The most UIDs in the status, which must not grow with the Job (upstream: maxUncountedPods).
constexpr std::size_t kMaxUncounted = 500;

JobCondition JobConditionOf(std::string type, const char* status, std::string reason, std::string message,
                            TimePoint now) {
  auto condition =
      MakeCondition<JobCondition>(std::move(type), status, std::move(reason), std::move(message), now);
  condition.last_probe_time = condition.last_transition_time;
  return condition;
}

void Learn(const JobCondition* known, std::optional<JobCondition>& interim) {
  if (known && known->status == "True") interim = *known;
}

}  // namespace

Result<Action> JobSync::Run() {
  written_ = job_.status;
  FLYBALL_TRY(ClaimPods());
  if (IsFinished(job_)) {
    std::vector<PodPtr> left;
    for (const PodPtr& pod : pods_)
      if (IsTracked(*pod)) left.push_back(pod);
    FLYBALL_TRY(RemoveTracking(left));
    return Done();
  }
  if (!job_.status.start_time && !IsSuspended(job_)) job_.status.start_time = api::Time::From(ctx_.Now());
  CountPods();
  DecideEnd();
  Status managed;
  if (interim_) {
    managed = DeleteActive();
  } else if (!IsDeleting(job_.metadata)) {
    managed = ManagePods();
    NoteSuspended();
    DecideCompletion();
  }
  FLYBALL_ASSIGN(const Action action, WriteProgress());
  if (!managed) return Unexpected(managed.error());
  return action;
}

Status JobSync::ClaimPods() {
  FLYBALL_ASSIGN(pods_, Claim<Pod>(job_, ctx_));
  return {};
}

bool JobSync::IsTracked(const Pod& pod) const {
  return HasFinalizer(pod.metadata, kJobTracking);
}

bool JobSync::IsUncounted(const std::string& uid) const {
  if (!job_.status.uncounted_terminated_pods) return false;
  const UncountedTerminatedPods& uncounted = *job_.status.uncounted_terminated_pods;
  const auto in = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), uid) != list.end();
  };
  return in(uncounted.succeeded) || in(uncounted.failed);
}

void JobSync::CountPods() {
  const int completions = job_.spec.completions.value_or(0);
  if (!job_.status.uncounted_terminated_pods) job_.status.uncounted_terminated_pods.emplace();
  if (IsIndexed(job_)) {
    succeeded_indexes_ = ParseIndexes(job_.status.completed_indexes, completions);
    failed_indexes_ = ParseIndexes(job_.status.failed_indexes.value_or(""), completions);
  }
  int ready = 0, terminating = 0;
  for (const PodPtr& pod : pods_) {
    if (IsPodActive(*pod)) {
      active_.push_back(pod);
      if (IsPodReady(*pod)) ++ready;
    } else if (!IsPodFinished(*pod)) {
      ++terminating;
    }
    if (IsTracked(*pod) && CountEnded(*pod)) ended_.push_back(pod);
  }
  job_.status.active = static_cast<std::int32_t>(active_.size());
  job_.status.ready = ready;
  job_.status.terminating = terminating;
  if (IsIndexed(job_)) SetIndexes();
}

bool JobSync::CountEnded(const Pod& pod) {
  if (IsUncounted(pod.metadata.uid)) return true;
  UncountedTerminatedPods& uncounted = *job_.status.uncounted_terminated_pods;
  // The others get their turn once these are counted: releasing them triggers the next reconcile.
  if (uncounted.succeeded.size() + uncounted.failed.size() >= kMaxUncounted) return false;
  const int index = IndexOf(pod);
  if (pod.status.phase == "Succeeded") {
    if (!IsIndexed(job_))
      uncounted.succeeded.push_back(pod.metadata.uid);
    else if (index >= 0 && index < job_.spec.completions.value_or(0))
      succeeded_indexes_.insert(index);
    return true;
  }
  if (!HasFailed(pod, job_)) return false;
  const FailureVerdict verdict = Judge(job_, pod);
  if (verdict.action == FailureVerdict::Action::kIgnore) return true;
  uncounted.failed.push_back(pod.metadata.uid);
  if (!IsIndexed(job_) || !job_.spec.backoff_limit_per_index || index < 0) return true;
  if (verdict.action == FailureVerdict::Action::kFailIndex ||
      FailuresBefore(pod).counted >= *job_.spec.backoff_limit_per_index)
    failed_indexes_.insert(index);
  return true;
}

void JobSync::SetIndexes() {
  for (const int index : succeeded_indexes_) failed_indexes_.erase(index);
  job_.status.completed_indexes = FormatIndexes(succeeded_indexes_);
  job_.status.succeeded = static_cast<std::int32_t>(succeeded_indexes_.size());
  if (job_.spec.backoff_limit_per_index) job_.status.failed_indexes = FormatIndexes(failed_indexes_);
}

void JobSync::EndWith(const char* type, const char* reason, std::string message) {
  interim_ = JobConditionOf(type, "True", reason, std::move(message), ctx_.Now());
}

void JobSync::DecideEnd() {
  Learn(FindCondition(job_.status.conditions, kSuccessCriteriaMet), interim_);
  Learn(FindCondition(job_.status.conditions, kFailureTarget), interim_);
  if (interim_) return;
  for (const PodPtr& pod : pods_) {
    const FailureVerdict verdict = Judge(job_, *pod);
    if (verdict.action == FailureVerdict::Action::kFailJob)
      return EndWith(kFailureTarget, "PodFailurePolicy", verdict.message);
  }
  const int failed =
      job_.status.failed + static_cast<int>(job_.status.uncounted_terminated_pods->failed.size());
  int restarts = 0;
  if (job_.spec.template_.spec.restart_policy == "OnFailure")
    for (const PodPtr& pod : active_) restarts += MaxRestarts(*pod);
  if (failed + restarts > job_.spec.backoff_limit.value_or(6))
    return EndWith(kFailureTarget, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if (job_.spec.active_deadline_seconds && job_.status.start_time && !IsSuspended(job_)) {
    const Duration left = job_.status.start_time->ToTimePoint() +
                          std::chrono::seconds(*job_.spec.active_deadline_seconds) - ctx_.Now();
    if (left <= Duration::zero())
      return EndWith(kFailureTarget, "DeadlineExceeded", "Job was active longer than specified deadline");
    look_again_ = left;
  }
  if (job_.spec.max_failed_indexes &&
      static_cast<int>(failed_indexes_.size()) > *job_.spec.max_failed_indexes)
    return EndWith(kFailureTarget, "MaxFailedIndexesExceeded",
                   "Job has exceeded the specified maximal number of failed indexes");
  if (auto met = MatchSuccessPolicy(job_, job_.status.completed_indexes))
    EndWith(kSuccessCriteriaMet, "SuccessPolicy", std::move(*met));
}

// Everything that should run has run.
void JobSync::DecideCompletion() {
  if (job_.status.active > 0) return;
  const int succeeded =
      job_.status.succeeded + static_cast<int>(job_.status.uncounted_terminated_pods->succeeded.size());
  if (!job_.spec.completions) {
    // Any success means that the work is done, once no pod is active any more.
    if (succeeded > 0)
      EndWith(kSuccessCriteriaMet, "CompletionsReached", "Reached expected number of succeeded pods");
    return;
  }
  const int failed_indexes = static_cast<int>(failed_indexes_.size());
  if (succeeded + failed_indexes < *job_.spec.completions) return;
  if (failed_indexes > 0)
    EndWith(kFailureTarget, "FailedIndexes", "Job has failed indexes");
  else
    EndWith(kSuccessCriteriaMet, "CompletionsReached", "Reached expected number of succeeded pods");
}

void JobSync::NoteSuspended() {
  const JobCondition* known = FindCondition(job_.status.conditions, "Suspended");
  const bool noted = known && known->status == "True";
  if (IsSuspended(job_) == noted) return;
  JobCondition condition =
      IsSuspended(job_) ? JobConditionOf("Suspended", "True", "JobSuspended", "Job suspended", ctx_.Now())
                        : JobConditionOf("Suspended", "False", "JobResumed", "Job resumed", ctx_.Now());
  SetCondition(job_.status.conditions, std::move(condition), api::Time::From(ctx_.Now()));
  if (IsSuspended(job_)) {
    job_.status.start_time.reset();
    ctx_.recorder().Normal(job_, "Suspended", "Job suspended");
  } else {
    job_.status.start_time = api::Time::From(ctx_.Now());
    ctx_.recorder().Normal(job_, "Resumed", "Job resumed");
  }
}

Result<Action> JobSync::WriteProgress() {
  if (interim_ && !FindCondition(job_.status.conditions, interim_->type))
    job_.status.conditions.push_back(*interim_);
  // What is about to be released must be recorded first.
  if (!ended_.empty()) FLYBALL_TRY(WriteStatusIfChanged());
  FLYBALL_TRY(RemoveTracking(ended_));
  SettleCounts();
  Finish();
  FLYBALL_TRY(WriteStatusIfChanged());
  return look_again_ ? RequeueAfter(*look_again_) : Done();
}

// UIDs whose finalizers are gone become counts.
void JobSync::SettleCounts() {
  UncountedTerminatedPods& uncounted = *job_.status.uncounted_terminated_pods;
  job_.status.succeeded += static_cast<std::int32_t>(uncounted.succeeded.size());
  job_.status.failed += static_cast<std::int32_t>(uncounted.failed.size());
  uncounted.succeeded.clear();
  uncounted.failed.clear();
}

void JobSync::Finish() {
  // Waits for terminating pods: only then is it known how the Job ended.
  if (!interim_ || job_.status.active > 0 || job_.status.terminating.value_or(0) > 0) return;
  const bool complete = interim_->type == kSuccessCriteriaMet;
  job_.status.conditions.push_back(JobConditionOf(complete ? "Complete" : "Failed", "True", interim_->reason,
                                                  interim_->message, ctx_.Now()));
  job_.status.ready = 0;
  if (complete) {
    job_.status.completion_time = api::Time::From(ctx_.Now());
    ctx_.recorder().Normal(job_, "Completed", "Job completed");
  } else {
    ctx_.recorder().Warning(job_, interim_->reason, interim_->message);
  }
}

Status JobSync::WriteStatusIfChanged() {
  if (job_.status == written_) return {};
  // Never overwrites a newer status: its counters say which pods were counted, and those would be counted
  // again.
  FLYBALL_ASSIGN(Job updated, ctx_.client().UpdateStatus(job_));
  written_ = job_.status;
  job_.metadata = std::move(updated.metadata);
  return {};
}

Status JobSync::RemoveTracking(const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods) {
    // 404 and conflicts are left to the next reconcile, which the pod's change triggers.
    FLYBALL_TRY(DropFinalizer(ctx_.client(), *pod, kJobTracking));
  }
  return {};
}

Status ReleaseLeftPods(const ObjectKey& key, const std::string& job_uid, Context& ctx) {
  for (const auto& pod : ctx.lister<Pod>().List(key.ns)) {
    if (!HasFinalizer(pod->metadata, kJobTracking)) continue;
    const auto label = pod->metadata.labels.find(kJobNameLabel);
    if (label == pod->metadata.labels.end() || label->second != key.name) continue;
    const auto owner = ControllerOf(*pod);
    if (owner && owner->uid == job_uid) continue;
    FLYBALL_TRY(DropFinalizer(ctx.client(), *pod, kJobTracking));
  }
  return {};
}

}  // namespace flyball::controllers
