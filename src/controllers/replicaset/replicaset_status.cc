#include "controllers/replicaset/replicaset_status.h"

#include "api/select/matching.h"
#include "controller/objects/condition.h"
#include "controller/objects/owner.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr char kSetReplicaFailure[] = "ReplicaFailure";

template <typename SetStatus>
void SetFailure(SetStatus& status, int missing, const Status& manage, TimePoint now) {
  const bool known = FindCondition(status.conditions, kSetReplicaFailure) != nullptr;
  if (manage && known) RemoveCondition(status.conditions, kSetReplicaFailure);
  if (manage || known) return;
  using Failure = typename decltype(status.conditions)::value_type;
  status.conditions.push_back(MakeCondition<Failure>(kSetReplicaFailure, "True",
                                                     missing > 0 ? "FailedCreate" : "FailedDelete",
                                                     manage.error().message(), now));
}

template <typename Set>
auto Counted(const Set& rs, const std::vector<std::shared_ptr<const Pod>>& pods, int missing,
             const Status& manage, TimePoint now) {
  auto status = rs.status;
  status.replicas = static_cast<std::int32_t>(pods.size());
  status.fully_labeled_replicas = status.ready_replicas = status.available_replicas = 0;
  for (const auto& pod : pods) {
    if (HasLabels(pod->metadata.labels, TemplateOf(rs).metadata.labels)) ++status.fully_labeled_replicas;
    if (!IsPodReady(*pod)) continue;
    ++status.ready_replicas;
    if (IsPodAvailable(*pod, rs.spec.min_ready_seconds, now)) ++status.available_replicas;
  }
  status.observed_generation = rs.metadata.generation;
  SetFailure(status, missing, manage, now);
  return status;
}

}  // namespace

const PodTemplateSpec& TemplateOf(const ReplicaSet& rs) {
  return rs.spec.template_;
}
const PodTemplateSpec& TemplateOf(const ReplicationController& rc) {
  static const PodTemplateSpec none;
  return rc.spec.template_ ? *rc.spec.template_ : none;
}

ReplicaSetStatus StatusOf(const ReplicaSet& rs, const std::vector<std::shared_ptr<const Pod>>& pods,
                          int missing, const Status& manage, TimePoint now) {
  return Counted(rs, pods, missing, manage, now);
}
ReplicationControllerStatus StatusOf(const ReplicationController& rc,
                                     const std::vector<std::shared_ptr<const Pod>>& pods, int missing,
                                     const Status& manage, TimePoint now) {
  return Counted(rc, pods, missing, manage, now);
}

}  // namespace flyball::controllers
