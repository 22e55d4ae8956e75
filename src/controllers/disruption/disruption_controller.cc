#include "controllers/disruption/disruption_controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "api/select/matching.h"
#include "api/types/apps.h"
#include "api/types/core.h"
#include "api/types/policy.h"
#include "client/discovery.h"
#include "controller/objects/condition.h"
#include "controller/objects/owner.h"
#include "controller/objects/selector_text.h"
#include "controller/objects/write_status.h"
#include "controller/pods/pod_state.h"
#include "controllers/disruption/stale_disruption_controller.h"

namespace flyball::controllers {
namespace {

using PodPtr = std::shared_ptr<const Pod>;

// A granted eviction that is not seen within this time did not happen (upstream: DeletionTimeout).
constexpr Duration kEvictionTimeout = std::chrono::minutes(2);

bool Selects(const PodDisruptionBudget& budget, const Pod& pod) {
  return budget.spec.selector && Matches(*budget.spec.selector, pod.metadata.labels);
}

// The object that a pod is a replica of.
struct PodScale {
  std::string uid;
  int replicas = 0;
};

template <ApiObject T>
std::optional<PodScale> FindScaled(const std::string& ns, std::string_view name, std::string_view uid,
                                   Context& ctx) {
  const auto object = ctx.lister<T>().Get(ns, name);
  if (!object || object->metadata.uid != uid) return std::nullopt;
  return PodScale{object->metadata.uid, object->spec.replicas.value_or(1)};
}

// If the ReplicaSet has a Deployment, that knows better how many there should be.
std::optional<PodScale> FindReplicaSet(const std::string& ns, std::string_view name, std::string_view uid,
                                       Context& ctx) {
  const auto rs = ctx.lister<ReplicaSet>().Get(ns, name);
  if (!rs || rs->metadata.uid != uid) return std::nullopt;
  const auto owner = ControllerOf(*rs);
  if (owner && owner->kind == "Deployment")
    if (auto found = FindScaled<Deployment>(ns, owner->name, owner->uid, ctx)) return found;
  return PodScale{rs->metadata.uid, rs->spec.replicas.value_or(1)};
}

// For other kinds, the scale subresource says so, if they have one.
Result<std::optional<PodScale>> FindByScale(const OwnerView& owner, const std::string& ns, RestMapper& kinds,
                                            Context& ctx) {
  const auto [group, version] = SplitApiVersion(owner.api_version);
  const auto kind = kinds.ForKind(group, version, owner.kind);
  if (!kind && !kind.error().Is(Reason::kNotFound)) return Unexpected(kind.error());
  if (!kind) return std::optional<PodScale>();
  const auto scale = ctx.client().Dynamic(*kind).Get(ns, owner.name, {}, "scale");
  if (!scale && !scale.error().Is(Reason::kNotFound)) return Unexpected(scale.error());
  if (!scale) return std::optional<PodScale>();
  const json::Value& answer = *scale;
  if (answer["metadata"]["uid"].string_or("") != owner.uid) return std::optional<PodScale>();
  return std::optional(
      PodScale{std::string(owner.uid), static_cast<int>(answer["spec"]["replicas"].int_or(0))});
}

Result<std::optional<PodScale>> ScaledOf(const Pod& pod, const OwnerView& owner, RestMapper& kinds,
                                         Context& ctx) {
  const std::string& ns = pod.metadata.namespace_;
  if (owner.kind == "ReplicaSet") return FindReplicaSet(ns, owner.name, owner.uid, ctx);
  if (owner.kind == "StatefulSet") return FindScaled<StatefulSet>(ns, owner.name, owner.uid, ctx);
  if (owner.kind == "ReplicationController")
    return FindScaled<ReplicationController>(ns, owner.name, owner.uid, ctx);
  return FindByScale(owner, ns, kinds, ctx);
}

constexpr char kUnmanagedPods[] =
    "Pods selected by this PodDisruptionBudget (selector: %s) were found to be unmanaged. As a result, the "
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account "
    "for "
    "these pods please set \".spec.minAvailable\" field of the PDB to an integer value.";

// How many pods the controllers of these pods want, counting each controller once. Pods without a controller
// do not count.
Result<int> ExpectedPods(const PodDisruptionBudget& budget, const std::vector<PodPtr>& pods,
                         RestMapper& kinds, Context& ctx) {
  std::map<std::string, int> wanted;
  bool unmanaged = false;
  for (const PodPtr& pod : pods) {
    const auto owner = ControllerOf(*pod);
    unmanaged |= !owner;
    if (!owner) continue;
    FLYBALL_ASSIGN(const auto scaled, ScaledOf(*pod, *owner, kinds, ctx));
    if (!scaled)
      return Unexpected(InternalError("found no controllers for pod \"" + pod->metadata.name + "\""));
    wanted[scaled->uid] = scaled->replicas;
  }
  if (unmanaged) {
    std::string text = kUnmanagedPods;
    text.replace(text.find("%s"), 2, SelectorInMessage(*budget.spec.selector));
    ctx.recorder().Warning(budget, "UnmanagedPods", text);
  }
  int total = 0;
  for (const auto& [uid, count] : wanted) total += count;
  return total;
}

Status SetExpectation(const PodDisruptionBudget& budget, const std::vector<PodPtr>& pods, RestMapper& kinds,
                      Context& ctx, PodDisruptionBudgetStatus& status) {
  status.expected_pods = static_cast<std::int32_t>(pods.size());
  status.desired_healthy = 0;
  if (budget.spec.max_unavailable) {
    FLYBALL_ASSIGN(status.expected_pods, ExpectedPods(budget, pods, kinds, ctx));
    FLYBALL_ASSIGN(const auto unavailable, budget.spec.max_unavailable->Scaled(status.expected_pods, true));
    status.desired_healthy = std::max(0, status.expected_pods - static_cast<std::int32_t>(unavailable));
  } else if (budget.spec.min_available) {
    if (budget.spec.min_available->is_string()) {
      FLYBALL_ASSIGN(status.expected_pods, ExpectedPods(budget, pods, kinds, ctx));
    }
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

Action WhenNextTimesOut(const PodDisruptionBudgetStatus& status, TimePoint now) {
  if (status.disrupted_pods.empty()) return Done();
  TimePoint first = TimePoint::max();
  for (const auto& [pod, granted] : status.disrupted_pods) first = std::min(first, granted.ToTimePoint());
  // One second more: times in objects are truncated to seconds, and checking too early would find nothing.
  return RequeueAfter(std::max(first + kEvictionTimeout - now, Duration::zero()) + std::chrono::seconds(1));
}

void SetAllowed(PodDisruptionBudget& budget, bool allowed, const char* reason, std::string message,
                TimePoint now) {
  auto condition = MakeCondition<Condition>("DisruptionAllowed", allowed ? "True" : "False", reason,
                                            std::move(message), now);
  condition.observed_generation = budget.metadata.generation;
  SetCondition(budget.status.conditions, std::move(condition), api::Time::From(now));
}

Status WriteIfChanged(const PodDisruptionBudget& before, const PodDisruptionBudget& updated, Context& ctx) {
  if (updated.status == before.status) return {};
  const auto written = WriteStatus(ctx.client(), updated);
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return {};
}

// The desired number is unknown, so none may be evicted.
Result<Action> Refuse(const PodDisruptionBudget& budget, const Error& error, Context& ctx) {
  ctx.recorder().Warning(budget, "CalculateExpectedPodCountFailed",
                         "Failed to calculate the number of expected pods: " + error.message());
  PodDisruptionBudget updated = budget;
  updated.status.disruptions_allowed = 0;
  SetAllowed(updated, false, "SyncFailed", error.message(), ctx.Now());
  FLYBALL_TRY(WriteIfChanged(budget, updated, ctx));
  return Unexpected(error);
}

Result<Action> ReconcileDisruption(const PodDisruptionBudget& budget, RestMapper& kinds, Context& ctx) {
  const std::vector<PodPtr> pods = ctx.lister<Pod>().List(budget.metadata.namespace_, [&](const Pod& pod) {
    return Selects(budget, pod) && !IsPodFinished(pod);
  });
  if (pods.empty()) ctx.recorder().Normal(budget, "NoPods", "No matching pods found");
  PodDisruptionBudget updated = budget;
  PodDisruptionBudgetStatus& status = updated.status;
  if (const Status known = SetExpectation(budget, pods, kinds, ctx, status); !known)
    return Refuse(budget, known.error(), ctx);
  DropOldDisruptions(pods, ctx.Now(), status);
  status.current_healthy = 0;
  for (const PodPtr& pod : pods)
    if (IsPodReady(*pod) && !IsDeleting(pod->metadata) && !status.disrupted_pods.contains(pod->metadata.name))
      ++status.current_healthy;
  status.disruptions_allowed =
      status.expected_pods > 0 ? std::max(0, status.current_healthy - status.desired_healthy) : 0;
  status.observed_generation = budget.metadata.generation;
  const bool allowed = status.disruptions_allowed > 0;
  SetAllowed(updated, allowed, allowed ? "SufficientPods" : "InsufficientPods", "", ctx.Now());
  FLYBALL_TRY(WriteIfChanged(budget, updated, ctx));
  return WhenNextTimesOut(status, ctx.Now());
}

}  // namespace

Status AddDisruptionController(Manager& manager, int workers) {
  FLYBALL_TRY(AddStaleDisruptionController(manager, workers));
  const auto kinds = std::make_shared<RestMapper>(manager.client());
  const auto budgets = manager.informers().For<PodDisruptionBudget>().lister();
  return manager.For<PodDisruptionBudget>()
      .Named("disruption-controller")
      .EventSource("controllermanager")
      .Watches<Pod>([budgets](const Pod& pod) {
        std::vector<ObjectKey> keys;
        for (const auto& budget : budgets.List(pod.metadata.namespace_))
          if (Selects(*budget, pod)) keys.push_back({budget->metadata.namespace_, budget->metadata.name});
        return keys;
      })
      .Uses<ReplicaSet>()
      .Uses<Deployment>()
      .Uses<StatefulSet>()
      .Uses<ReplicationController>()
      .Workers(workers)
      .Reconcile([kinds](const PodDisruptionBudget& budget, Context& ctx) {
        return ReconcileDisruption(budget, *kinds, ctx);
      });
}

}  // namespace flyball::controllers
