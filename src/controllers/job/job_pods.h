// How a Job counts its pods, and what new pods look like.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/batch.h"
#include "api/types/core.h"

namespace flyball::controllers {

inline constexpr char kJobTracking[] = "batch.kubernetes.io/job-tracking";
inline constexpr char kJobNameLabel[] = "batch.kubernetes.io/job-name";
inline constexpr char kCompletionIndex[] = "batch.kubernetes.io/job-completion-index";
inline constexpr char kIndexFailureCount[] = "batch.kubernetes.io/job-index-failure-count";
inline constexpr char kIndexIgnoredFailureCount[] = "batch.kubernetes.io/job-index-ignored-failure-count";

using PodPtr = std::shared_ptr<const Pod>;

bool IsIndexed(const Job& job);
bool IsSuspended(const Job& job);
// Whether the Complete or Failed condition is true.
bool IsFinished(const Job& job);
// Whether pods are replaced only when they have failed, not when they start to terminate.
bool ReplacesOnlyFailed(const Job& job);

// -1 if it has none.
int IndexOf(const Pod& pod);
// How often pods of its index had failed before this pod was created.
struct IndexFailures {
  int counted = 0;
  int ignored = 0;  // ignored by the failure policy: they count only for the back-off
  int total() const { return counted + ignored; }
};
IndexFailures FailuresBefore(const Pod& pod);
// The same, including the pod's own failure.
IndexFailures FailuresWith(const Job& job, const Pod& pod);
bool HasFailed(const Pod& pod, const Job& job);
// When its last container ended, or the best estimate of that.
api::Time FinishTime(const Pod& pod, api::Time now);

// The failure policy's verdict on a failed pod.
struct FailureVerdict {
  enum class Action { kCount, kIgnore, kFailIndex, kFailJob };
  Action action = Action::kCount;
  std::string message;  // of kFailJob
};
FailureVerdict Judge(const Job& job, const Pod& pod);

// "Matched rules at index 0" if the success policy is met.
std::optional<std::string> MatchSuccessPolicy(const Job& job, const std::string& completed_indexes);

// `index` is -1 for a Job that is not indexed.
Pod NewJobPod(const Job& job, int index, IndexFailures failures);

}  // namespace flyball::controllers
