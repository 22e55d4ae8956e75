#include "controllers/disruption/stale_disruption_controller.h"

#include "api/types/core.h"
#include "controller/controller_builder.h"
#include "controller/objects/owner.h"
#include "controller/pods/disruption_target.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

// A pod that is still not being deleted after this time will not be (upstream: stalePodDisruptionTimeout).
constexpr Duration kStaleAfter = std::chrono::minutes(2);
// A node may take as long as it likes between setting the condition and ending a pod.
constexpr char kByNode[] = "TerminationByKubelet";

// Nothing if the pod is not about to be disrupted.
const PodCondition* WaitsToGo(const Pod& pod) {
  const PodCondition* target = FindCondition(pod.status.conditions, kDisruptionTarget);
  const bool waits = target && target->status == "True" && target->reason != kByNode &&
                     !IsDeleting(pod.metadata) && !IsPodFinished(pod);
  return waits ? target : nullptr;
}

Result<Action> ReconcileStaleDisruption(const Pod& pod, Context& ctx) {
  const PodCondition* target = WaitsToGo(pod);
  if (!target) return Done();
  const TimePoint since = target->last_transition_time.value_or(api::Time{}).ToTimePoint();
  const Duration left = since + kStaleAfter - ctx.Now();
  if (left > Duration::zero()) return RequeueAfter(left);
  Pod updated = pod;
  UnmarkDisrupted(updated, ctx.Now());
  const auto written = ctx.client().UpdateStatus(updated);
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return Done();
}

}  // namespace

Status AddStaleDisruptionController(Manager& manager, int workers) {
  Predicates<Pod> waiting;
  waiting.create = [](const Pod& pod) { return WaitsToGo(pod) != nullptr; };
  waiting.update = [](const Pod&, const Pod& pod) { return WaitsToGo(pod) != nullptr; };
  waiting.remove = [](const Pod&) { return false; };
  return manager.For<Pod>()
      .Named("stale-pod-disruption")
      .When(std::move(waiting))
      .Workers(workers)
      .Reconcile(&ReconcileStaleDisruption);
}

}  // namespace flyball::controllers
