// What a Deployment's status and conditions should say.
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

// Adds or replaces. A condition of the same status and reason is left as it is, times and message too.
void SetDeploymentCondition(DeploymentStatus& status, DeploymentCondition condition);

bool HasProgressDeadline(const Deployment& deployment);
// Everything is of the new template, available, and as many as asked for.
bool IsComplete(const Deployment& deployment, const DeploymentStatus& status);

// The counts, and the Available condition.
DeploymentStatus CountedStatus(const Deployment& deployment, const Rollout& rollout, TimePoint now);
// The same with Progressing and ReplicaFailure brought up to date: during a rollout.
DeploymentStatus RolloutStatus(const Deployment& deployment, const Rollout& rollout, TimePoint now);

// How long until the deployment's progress deadline has passed, if it is waiting for that; else nothing.
std::optional<Duration> TimeUntilDeadline(const Deployment& deployment, const DeploymentStatus& status,
                                          TimePoint now);

}  // namespace flyball::controllers
