#include "controllers/disruption/disruption_controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "api/types/apps.h"
#include "api/types/core.h"
#include "api/types/policy.h"
#include "controller/owner.h"
#include "controllers/objects/label_match.h"
#include "controllers/objects/write_status.h"
#include "controllers/pods/pod_state.h"

namespace flyball::controllers {
namespace {

using PodPtr = std::shared_ptr<const Pod>;

// An eviction that was granted and not seen within this time did not happen (upstream: DeletionTimeout).
constexpr Duration kEvictionTimeout = std::chrono::minutes(2);

bool Selects(const PodDisruptionBudget& budget, const Pod& pod) {
  return budget.spec.selector && Matches(*budget.spec.selector, pod.metadata.labels);
}

// How many pods the controllers of these pods want, each controller once. A pod that nobody controls is one.
int ExpectedPods(const std::vector<PodPtr>& pods, Context& ctx) {
  std::map<std::string, int> wanted;
  for (const PodPtr& pod : pods) {
    const auto owner = ControllerOf(*pod);
    const std::string uid(owner ? owner->uid : std::string_view(pod->metadata.uid));
    int& count = wanted[uid];
    const auto rs = owner && owner->kind == "ReplicaSet"
                        ? ctx.lister<ReplicaSet>().Get(pod->metadata.namespace_, owner->name)
                        : nullptr;
    count = rs ? rs->spec.replicas.value_or(1) : count + 1;
  }
  int total = 0;
  for (const auto& [uid, count] : wanted) total += count;
  return total;
}

Status SetExpectation(const PodDisruptionBudget& budget, const std::vector<PodPtr>& pods, Context& ctx,
                      PodDisruptionBudgetStatus& status) {
  status.expected_pods = static_cast<std::int32_t>(pods.size());
  status.desired_healthy = 0;
  if (budget.spec.max_unavailable) {
    status.expected_pods = ExpectedPods(pods, ctx);
    FLYBALL_ASSIGN(const auto unavailable, budget.spec.max_unavailable->Scaled(status.expected_pods, true));
    status.desired_healthy = std::max(0, status.expected_pods - static_cast<std::int32_t>(unavailable));
  } else if (budget.spec.min_available) {
    if (budget.spec.min_available->is_string()) status.expected_pods = ExpectedPods(pods, ctx);
    FLYBALL_ASSIGN(const auto available, budget.spec.min_available->Scaled(status.expected_pods, true));
    status.desired_healthy = static_cast<std::int32_t>(available);
  }
  return {};
}

void DropOldDisruptions(const std::vector<PodPtr>& pods, TimePoint now, PodDisruptionBudgetStatus& status) {
  std::erase_if(status.disrupted_pods, [&](const auto& entry) {
    const bool waits = std::any_of(pods.begin(), pods.end(), [&](const PodPtr& pod) {
      return pod->metadata.name == entry.first && !IsDeleting(pod->metadata);
    });
    return !waits || entry.second.ToTimePoint() + kEvictionTimeout < now;
  });
}

Result<Action> ReconcileDisruption(const PodDisruptionBudget& budget, Context& ctx) {
  const std::vector<PodPtr> pods = ctx.lister<Pod>().List(budget.metadata.namespace_, [&](const Pod& pod) {
    return Selects(budget, pod) && !IsPodFinished(pod);
  });
  PodDisruptionBudget updated = budget;
  PodDisruptionBudgetStatus& status = updated.status;
  FLYBALL_TRY(SetExpectation(budget, pods, ctx, status));
  DropOldDisruptions(pods, ctx.Now(), status);
  status.current_healthy = 0;
  for (const PodPtr& pod : pods)
    if (IsPodReady(*pod) && !IsDeleting(pod->metadata) && !status.disrupted_pods.contains(pod->metadata.name))
      ++status.current_healthy;
  status.disruptions_allowed =
      status.expected_pods > 0 ? std::max(0, status.current_healthy - status.desired_healthy) : 0;
  status.observed_generation = budget.metadata.generation;
  Condition allowed;
  allowed.type = "DisruptionAllowed";
  allowed.status = status.disruptions_allowed > 0 ? "True" : "False";
  allowed.reason = status.disruptions_allowed > 0 ? "SufficientPods" : "InsufficientPods";
  allowed.observed_generation = budget.metadata.generation;
  SetCondition(status.conditions, std::move(allowed), api::Time::From(ctx.Now()));
  if (status != budget.status) {
    const auto written = WriteStatus(ctx.client(), updated);
    if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  }
  return status.disrupted_pods.empty() ? Done() : RequeueAfter(kEvictionTimeout);
}

}  // namespace

Status AddDisruptionController(Manager& manager, int workers) {
  const auto budgets = manager.informers().For<PodDisruptionBudget>().lister();
  return manager.For<PodDisruptionBudget>()
      .Named("disruption-controller")
      .Watches<Pod>([budgets](const Pod& pod) {
        std::vector<ObjectKey> keys;
        for (const auto& budget : budgets.List(pod.metadata.namespace_))
          if (Selects(*budget, pod)) keys.push_back({budget->metadata.namespace_, budget->metadata.name});
        return keys;
      })
      .Uses<ReplicaSet>()
      .Workers(workers)
      .Reconcile(&ReconcileDisruption);
}

}  // namespace flyball::controllers
