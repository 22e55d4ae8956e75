#include "controllers/devicetaints/device_taint_eviction_controller.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/select/devices.h"
#include "api/types/core.h"
#include "api/types/resource.h"
#include "base/run/mutex.h"
#include "controller/objects/owner.h"
#include "controller/pods/disruption_target.h"
#include "controller/pods/pod_claims.h"
#include "controller/pods/pod_state.h"
#include "controllers/devicetaints/device_evictions.h"

namespace flyball::controllers {
namespace {

constexpr char kDeviceEviction[] = "device-taint-eviction-controller";
constexpr char kInProgress[] = "EvictionInProgress";
// All pods with claims are in one entry of this index.
constexpr char kClaimsIndex[] = "has-resource-claims", kHasClaims[] = "yes";
// How often the status of a rule is written at most.
constexpr Duration kStatusPeriod = std::chrono::seconds(10);

// What the controller has done since it started. Thread-safe.
class EvictionLog {
 public:
  // A pod has to go; false if that was known already.
  bool Begin(const std::string& pod) {
    MutexLock lock(mu_);
    return waiting_.insert(pod).second;
  }
  // It may stay, or is gone; true if it was waiting.
  bool Cancel(const std::string& pod) {
    MutexLock lock(mu_);
    return waiting_.erase(pod) > 0;
  }
  void Evicted(const std::string& pod, const std::set<std::string>& rules) {
    MutexLock lock(mu_);
    waiting_.erase(pod);
    for (const std::string& rule : rules) ++evicted_[rule];
  }
  std::int64_t EvictedBy(const std::string& rule) const {
    MutexLock lock(mu_);
    const auto found = evicted_.find(rule);
    return found == evicted_.end() ? 0 : found->second;
  }

 private:
  mutable Mutex mu_;
  std::set<std::string> waiting_ FLYBALL_GUARDED_BY(mu_);                // keys of pods
  std::map<std::string, std::int64_t> evicted_ FLYBALL_GUARDED_BY(mu_);  // by the rule's UID
};

void ReportEviction(Context& ctx, const char* what) {
  const EventTarget named{KindRefOf<Pod>(), ctx.key().ns, ctx.key().name, "", "", ""};
  ctx.recorder().Normal(named, "DeviceTaintManagerEviction", what);
}

void CancelDeviceEviction(EvictionLog& log, Context& ctx) {
  if (log.Cancel(ctx.key().ToString())) ReportEviction(ctx, "Cancelling deletion");
}

Status EvictFromDevices(const Pod& pod, Context& ctx) {
  ReportEviction(ctx, "Marking for deletion");
  Pod marked = pod;
  if (MarkDisrupted(marked, "DeletionByDeviceTaintManager",
                    "Device Taint manager: deleting due to NoExecute taint", ctx.Now()))
    FLYBALL_TRY(ctx.client().UpdateStatus(marked));
  const Status deleted = ctx.client().Delete(pod);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  return {};
}

Result<Action> ReconcileUser(const Pod& pod, EvictionLog& log, Context& ctx) {
  if (pod.spec.resource_claims.empty() || IsDeleting(pod.metadata) || IsPodFinished(pod)) return Done();
  const auto eviction = EvictionOf(pod, ctx);
  if (!eviction) {
    CancelDeviceEviction(log, ctx);
    return Done();
  }
  if (eviction->at > ctx.Now()) {
    log.Begin(ctx.key().ToString());
    return RequeueAfter(eviction->at - ctx.Now());
  }
  FLYBALL_TRY(EvictFromDevices(pod, ctx));
  log.Evicted(ctx.key().ToString(), eviction->rules);
  return Done();
}

std::string CountText(std::int64_t count, const char* one, const char* many) {
  return count == 1 ? std::string("1 ") + one : std::to_string(count) + " " + many;
}

struct Pending {
  std::int64_t pods = 0;
  std::set<std::string> namespaces;
  std::string InNamespaces() const {
    return CountText(static_cast<std::int64_t>(namespaces.size()), "namespace", "different namespaces");
  }
};

Pending CountPending(const DeviceTaintRule& rule, Context& ctx) {
  Pending pending;
  for (const auto& pod : ctx.lister<Pod>().ByIndex(kClaimsIndex, kHasClaims)) {
    if (IsDeleting(pod->metadata)) continue;
    const auto eviction = EvictionOf(*pod, ctx, &rule);
    if (!eviction || !eviction->rules.contains(rule.metadata.uid)) continue;
    ++pending.pods;
    pending.namespaces.insert(pod->metadata.namespace_);
  }
  return pending;
}

std::int64_t CountPublished(const DeviceTaintRule& rule, Context& ctx) {
  std::map<std::pair<std::string, std::string>, std::int64_t> newest;
  const auto slices = ctx.lister<ResourceSlice>().List();
  for (const auto& slice : slices) {
    std::int64_t& generation = newest[{slice->spec.driver, slice->spec.pool.name}];
    generation = std::max(generation, slice->spec.pool.generation);
  }
  std::int64_t count = 0;
  for (const auto& slice : slices) {
    const ResourceSliceSpec& spec = slice->spec;
    if (spec.pool.generation != newest[{spec.driver, spec.pool.name}]) continue;
    for (const Device& device : spec.devices)
      count += Selects(rule, {spec.driver, spec.pool.name, device.name});
  }
  return count;
}

std::int64_t CountAllocated(const DeviceTaintRule& rule, Context& ctx) {
  std::int64_t count = 0;
  for (const auto& claim : ctx.lister<ResourceClaimObject>().List())
    if (claim->status.allocation)
      for (const auto& allocated : claim->status.allocation->devices.results)
        count += Selects(rule, IdOf(allocated));
  return count;
}

// What the rule would do with the effect NoExecute.
std::string PreviewText(const DeviceTaintRule& rule, Context& ctx) {
  const Pending pending = CountPending(rule, ctx);
  return CountText(CountPublished(rule, ctx), "published device selected. ", "published devices selected. ") +
         CountText(CountAllocated(rule, ctx), "allocated device selected. ", "allocated devices selected. ") +
         CountText(pending.pods, "pod would be evicted in ", "pods would be evicted in ") +
         pending.InNamespaces() +
         " if the effect was NoExecute. This information will not be updated again. Recreate the "
         "DeviceTaintRule to trigger an update.";
}

Condition ProgressOf(const DeviceTaintRule& rule, const EvictionLog& log, Context& ctx) {
  Condition condition;
  condition.type = kInProgress;
  condition.status = "False";
  condition.observed_generation = rule.metadata.generation;
  const std::int64_t evicted = log.EvictedBy(rule.metadata.uid);
  const std::string& effect = rule.spec.taint.effect;
  if (effect == "NoExecute") {
    const Pending pending = CountPending(rule, ctx);
    condition.reason = evicted > 0 ? "Completed" : "NotStarted";
    if (pending.pods > 0) {
      condition.status = "True";
      condition.reason = "PodsPendingEviction";
      condition.message = CountText(pending.pods, "pod needs", "pods need") + " to be evicted in " +
                          pending.InNamespaces() + ".";
    }
  } else if (effect == "None") {
    condition.reason = "NoEffect";
    condition.message = PreviewText(rule, ctx);
  } else {
    condition.reason = "OtherEffect";
    condition.message = "Eviction only happens for the NoExecute effect.";
  }
  if (evicted > 0)
    condition.message += (condition.message.empty() ? "" : " ") + CountText(evicted, "pod", "pods") +
                         " evicted since starting the controller.";
  return condition;
}

Status WriteProgress(const DeviceTaintRule& rule, Condition condition, Context& ctx) {
  condition.last_transition_time = api::Time{api::Time::From(ctx.Now()).seconds, 0};
  json::Value object =
      json::Object{{"apiVersion", "resource.k8s.io/v1"},
                   {"kind", "DeviceTaintRule"},
                   {"metadata", json::Object{{"name", rule.metadata.name}, {"uid", rule.metadata.uid}}},
                   {"status", json::Object{{"conditions", json::Array{ToJson(condition)}}}}};
  FLYBALL_TRY(ctx.client().Of<DeviceTaintRule>().Apply(
      std::move(object), {.field_manager = kDeviceEviction, .force = true, .subresource = "status"}));
  return {};
}

Result<Action> ReconcileRule(const DeviceTaintRule& rule, const EvictionLog& log, Context& ctx) {
  const Condition* known = FindCondition(rule.status.conditions, kInProgress);
  const bool current = known && known->observed_generation == rule.metadata.generation;
  if (current && known->last_transition_time) {
    const Duration since = ctx.Now() - known->last_transition_time->ToTimePoint();
    if (since < kStatusPeriod) return RequeueAfter(kStatusPeriod - since);
    // A preview is made once.
    if (rule.spec.taint.effect == "None") return Done();
  }
  const Condition progress = ProgressOf(rule, log, ctx);
  const bool same = current && known->status == progress.status && known->reason == progress.reason &&
                    known->message == progress.message;
  if (!same) FLYBALL_TRY(WriteProgress(rule, progress, ctx));
  return Done();
}

std::vector<ObjectKey> UsersOf(const ResourceClaimObject& claim) {
  std::vector<ObjectKey> keys;
  for (const ResourceClaimConsumerReference& user : claim.status.reserved_for)
    if (user.resource == "pods") keys.push_back({claim.metadata.namespace_, user.name});
  return keys;
}

std::vector<ObjectKey> AllUsers(const Lister<Pod>& pods) {
  std::vector<ObjectKey> keys;
  for (const auto& pod : pods.ByIndex(kClaimsIndex, kHasClaims))
    keys.push_back({pod->metadata.namespace_, pod->metadata.name});
  return keys;
}

std::vector<ObjectKey> AllRules(const Lister<DeviceTaintRule>& rules) {
  std::vector<ObjectKey> keys;
  for (const auto& rule : rules.List()) keys.push_back({"", rule->metadata.name});
  return keys;
}

std::vector<std::string> ClaimsEntry(const Pod& pod) {
  if (pod.spec.resource_claims.empty()) return {};
  return {kHasClaims};
}

Predicates<Pod> UsesClaims() {
  const auto uses = [](const Pod& pod) { return !pod.spec.resource_claims.empty(); };
  return {.create = uses, .update = [uses](const Pod&, const Pod& pod) { return uses(pod); }, .remove = uses};
}

// The status of a rule is of no interest to anybody here.
Predicates<DeviceTaintRule> RuleChanged() {
  return {.create = nullptr,
          .update = [](const DeviceTaintRule& a, const DeviceTaintRule& b) { return !(a.spec == b.spec); },
          .remove = nullptr};
}

}  // namespace

Status AddDeviceTaintEvictionController(Manager& manager, int workers) {
  const auto log = std::make_shared<EvictionLog>();
  const Lister<Pod> pods = manager.informers().For<Pod>().lister();
  const Lister<DeviceTaintRule> rules = manager.informers().For<DeviceTaintRule>().lister();
  FLYBALL_TRY(
      manager.For<Pod>()
          .Named(kDeviceEviction)
          .When(UsesClaims())
          .Index<Pod>(kClaimsIndex, &ClaimsEntry)
          .Watches<ResourceClaimObject>(&UsersOf)
          .Watches<ResourceSlice>([pods](const ResourceSlice&) { return AllUsers(pods); })
          .Watches<DeviceTaintRule>([pods](const DeviceTaintRule&) { return AllUsers(pods); }, RuleChanged())
          .Workers(workers)
          .OnGone([log](const ObjectKey&, Context& ctx) -> Result<Action> {
            CancelDeviceEviction(*log, ctx);
            return Done();
          })
          .Reconcile([log](const Pod& pod, Context& ctx) { return ReconcileUser(pod, *log, ctx); }));
  return manager.For<DeviceTaintRule>()
      .Named(std::string(kDeviceEviction) + "-rules")
      .Watches<Pod>([rules](const Pod&) { return AllRules(rules); }, UsesClaims())
      .Uses<ResourceSlice>()
      .Uses<ResourceClaimObject>()
      .Workers(1)
      .Reconcile([log](const DeviceTaintRule& rule, Context& ctx) { return ReconcileRule(rule, *log, ctx); });
}

}  // namespace flyball::controllers
