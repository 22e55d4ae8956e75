#include "controllers/replicaset/replicaset_status.h"

#include "controller/owner.h"
#include "controllers/objects/label_match.h"
#include "controllers/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kSetReplicaFailure[] = "ReplicaFailure";

void SetFailure(ReplicaSetStatus& status, int missing, const Status& manage, TimePoint now) {
  const bool known = FindCondition(status.conditions, kSetReplicaFailure) != nullptr;
  if (manage && known) RemoveCondition(status.conditions, kSetReplicaFailure);
  if (manage || known) return;
  ReplicaSetCondition failure;
  failure.type = kSetReplicaFailure;
  failure.status = "True";
  failure.reason = missing > 0 ? "FailedCreate" : "FailedDelete";
  failure.message = manage.error().message();
  SetCondition(status.conditions, std::move(failure), api::Time::From(now));
}

}  // namespace

ReplicaSetStatus StatusOf(const ReplicaSet& rs, const std::vector<std::shared_ptr<const Pod>>& pods,
                          int missing, const Status& manage, TimePoint now) {
  ReplicaSetStatus status = rs.status;
  status.replicas = static_cast<std::int32_t>(pods.size());
  status.fully_labeled_replicas = status.ready_replicas = status.available_replicas = 0;
  for (const auto& pod : pods) {
    if (HasLabels(pod->metadata.labels, rs.spec.template_.metadata.labels)) ++status.fully_labeled_replicas;
    if (!IsPodReady(*pod)) continue;
    ++status.ready_replicas;
    if (IsPodAvailable(*pod, rs.spec.min_ready_seconds, now)) ++status.available_replicas;
  }
  status.observed_generation = rs.metadata.generation;
  SetFailure(status, missing, manage, now);
  return status;
}

}  // namespace flyball::controllers
