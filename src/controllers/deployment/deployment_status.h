// Computes a Deployment's status and conditions.
#pragma once

#include <string>

#include "base/run/clock.h"
#include "controllers/deployment/replica_set_sets.h"

namespace flyball::controllers {

// Reasons of the Progressing condition.
inline constexpr char kNewReplicaSetCreated[] = "NewReplicaSetCreated";
inline constexpr char kFoundNewReplicaSet[] = "FoundNewReplicaSet";
inline constexpr char kFailedCreate[] = "ReplicaSetCreateError";
inline constexpr char kReplicaSetUpdated[] = "ReplicaSetUpdated";
inline constexpr char kNewReplicaSetAvailable[] = "NewReplicaSetAvailable";
inline constexpr char kTimedOut[] = "ProgressDeadlineExceeded";
inline constexpr char kPaused[] = "DeploymentPaused";
inline constexpr char kResumed[] = "DeploymentResumed";

// Adds or replaces a condition. One with the same status and reason stays unchanged, including its times and
// message.
void SetDeploymentCondition(DeploymentStatus& status, DeploymentCondition condition);

bool HasProgressDeadline(const Deployment& deployment);
// All pods are of the new template and available, and there are as many as requested.
bool IsComplete(const Deployment& deployment, const DeploymentStatus& status);

// The counts, and the Available condition.
DeploymentStatus CountedStatus(const Deployment& deployment, const Rollout& rollout, TimePoint now);
// The same, with Progressing and ReplicaFailure updated. Used during a rollout.
DeploymentStatus RolloutStatus(const Deployment& deployment, const Rollout& rollout, TimePoint now);

// Returns how long until the progress deadline passes, if the Deployment is waiting for it; otherwise
// nothing.
std::optional<Duration> TimeUntilDeadline(const Deployment& deployment, const DeploymentStatus& status,
                                          TimePoint now);

}  // namespace flyball::controllers
