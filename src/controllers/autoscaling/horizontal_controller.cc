#include "controllers/autoscaling/horizontal_controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/select/selector.h"
#include "api/types/autoscaling.h"
#include "api/types/core.h"
#include "base/run/mutex.h"
#include "client/discovery.h"
#include "controller/objects/condition.h"
#include "controller/objects/owner.h"
#include "controller/objects/served_kinds.h"
#include "controllers/autoscaling/metric_proposal.h"
#include "controllers/autoscaling/scaling_history.h"

namespace flyball::controllers {
namespace {

// Upstream: horizontal-pod-autoscaler-sync-period. Also after a failure.
constexpr Duration kSyncPeriod = std::chrono::seconds(15);
constexpr char kAbleToScale[] = "AbleToScale";
constexpr char kScalingActive[] = "ScalingActive";
constexpr char kScaledToZero[] = "ScaledToZero";

// What is remembered of all autoscalers between evaluations. Thread-safe; one autoscaler is evaluated by one
// worker at a time.
class ScalingMemory {
 public:
  // What is known of this one; of those that `exists` does not hold for, nothing is.
  template <typename Exists>
  std::shared_ptr<ScalingHistory> HistoryOf(const std::string& uid, Exists exists) {
    MutexLock lock(mu_);
    std::erase_if(entries_, [&](const auto& entry) { return !exists(entry.first); });
    auto& history = entries_[uid].history;
    if (!history) history = std::make_shared<ScalingHistory>();
    return history;
  }
  void SetSelector(const std::string& uid, std::string ns, std::string name, api::LabelSelector selector) {
    MutexLock lock(mu_);
    Entry& entry = entries_[uid];
    entry.ns = std::move(ns);
    entry.name = std::move(name);
    entry.selector = std::move(selector);
  }
  // Those, by "namespace/name", whose selector matches one of the pods.
  std::set<std::string> Selecting(const std::string& ns, const ReplicaCalculator::Pods& pods) const {
    MutexLock lock(mu_);
    std::set<std::string> names;
    for (const auto& [uid, entry] : entries_)
      if (entry.selector && entry.ns == ns)
        for (const auto& pod : pods)
          if (MatchesLabels(*entry.selector, *pod)) names.insert(entry.ns + "/" + entry.name);
    return names;
  }

  static bool MatchesLabels(const api::LabelSelector& selector, const Pod& pod) {
    const std::vector<std::pair<std::string, std::string>> labels(pod.metadata.labels.begin(),
                                                                  pod.metadata.labels.end());
    return selector.Matches(api::LabelPairs(labels));
  }

 private:
  struct Entry {
    std::shared_ptr<ScalingHistory> history;
    std::string ns, name;
    std::optional<api::LabelSelector> selector;
  };
  mutable Mutex mu_;
  std::map<std::string, Entry> entries_ FLYBALL_GUARDED_BY(mu_);  // by UID
};

// One evaluation of one autoscaler. Confined to it.
class HorizontalSync {
 public:
  HorizontalSync(const HorizontalPodAutoscaler& hpa, ServedKinds& kinds, ScalingMemory& memory, Context& ctx)
      : hpa_(hpa), before_(hpa.status), kinds_(kinds), memory_(memory), ctx_(ctx) {}

  Result<Action> Run() {
    // Errors are reported in the conditions, and retried in the next evaluation.
    if (const Status found = FindScale(); !found)
      Fail("FailedGetScale", "unable to get the target's current scale", found.error().message());
    else
      KeepSize();
    if (hpa_.status != before_) {
      const auto written = ctx_.client().UpdateStatus(hpa_);
      if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
    }
    return RequeueAfter(kSyncPeriod);
  }

 private:
  Status FindScale() {
    const CrossVersionObjectReference& target = hpa_.spec.scale_target_ref;
    FLYBALL_ASSIGN(target_, TargetKind());
    FLYBALL_ASSIGN(read_,
                   ctx_.client().Dynamic(target_).Get(hpa_.metadata.namespace_, target.name, {}, "scale"));
    return FromJson(read_, &scale_);
  }

  Result<KindRef> TargetKind() {
    const CrossVersionObjectReference& target = hpa_.spec.scale_target_ref;
    const auto [group, version] = SplitApiVersion(target.api_version);
    auto kind = kinds_.Find(target.api_version, target.kind);
    if (kind || !kind.error().Is(Reason::kNotFound)) return kind;
    return Unexpected(Error(Reason::kNotFound, "no matches for kind \"" + target.kind + "\" in group \"" +
                                                   std::string(group) + "\""));
  }

  void KeepSize() {
    Note(kAbleToScale, "True", "SucceededGetScale",
         "the HPA controller was able to get the target's current scale");
    const auto everyone = ctx_.lister<HorizontalPodAutoscaler>().List();
    history_ = memory_.HistoryOf(hpa_.metadata.uid, [&](const std::string& uid) {
      return uid == hpa_.metadata.uid || std::any_of(everyone.begin(), everyone.end(), [&](const auto& each) {
               return each->metadata.uid == uid;
             });
    });
    const int current = scale_.spec.replicas, least = hpa_.spec.min_replicas.value_or(1);
    history_->Begin(current, ctx_.Now());
    if (current == 0 && !MayLeaveZero(least)) {
      Note(kScalingActive, "False", "ScalingDisabled",
           "scaling is disabled since the replica count of the target is zero");
      return SetSizes(current, current, {});
    }
    if (current > hpa_.spec.max_replicas)
      return Rescale(hpa_.spec.max_replicas, "Current number of replicas above Spec.MaxReplicas", {});
    if (current < least && current != 0)
      return Rescale(least, "Current number of replicas below Spec.MinReplicas", {});
    std::vector<MetricStatus> statuses(hpa_.spec.metrics.size());
    const auto best = EvaluateMetrics(statuses);
    // One empty entry per metric that could not be read, as upstream.
    if (!best) return SetSizes(current, hpa_.status.desired_replicas, std::move(statuses));
    Follow(*best, current, least, std::move(statuses));
  }

  // Only what was brought to zero here comes back by itself.
  bool MayLeaveZero(int least) const {
    const auto* condition = FindCondition(hpa_.status.conditions, kScaledToZero);
    const bool scaled = condition && condition->status == "True";
    return scaled && (least != 0 || HasOutsideMetric());
  }

  bool HasOutsideMetric() const {
    return std::any_of(hpa_.spec.metrics.begin(), hpa_.spec.metrics.end(),
                       [](const MetricSpec& metric) { return metric.object || metric.external; });
  }

  // Brings what the metrics ask for within what is allowed now, and makes it so.
  void Follow(const MetricProposal& best, int current, int least, std::vector<MetricStatus> statuses) {
    std::string why;
    if (best.replicas > current) why = best.metric + " above target";
    if (best.replicas < current) why = "All metrics below target";
    const ScalingWish wish{current, best.replicas, least, hpa_.spec.max_replicas};
    const AllowedReplicas allowed = hpa_.spec.behavior
                                        ? history_->Allow(wish, *hpa_.spec.behavior, ctx_.Now())
                                        : history_->Allow(wish, ctx_.Now());
    Note(kAbleToScale, "True", allowed.able_reason, allowed.able_message);
    Note("ScalingLimited", allowed.limited ? "True" : "False", allowed.limited_reason,
         allowed.limited_message);
    int wanted = allowed.replicas;
    if (current == 0 && wanted < least) {
      wanted = least;
      if (why.empty()) why = "Current number of replicas below Spec.MinReplicas";
    }
    if (wanted == current) return SetSizes(current, current, std::move(statuses));
    Rescale(wanted, why, std::move(statuses));
  }

  void Rescale(int replicas, const std::string& why, std::vector<MetricStatus> statuses) {
    const int before = scale_.spec.replicas;
    const auto written = WriteScale(replicas);
    const std::string size = "New size: " + std::to_string(replicas) + "; reason: " + why;
    if (!written) {
      ctx_.recorder().Warning(hpa_, "FailedRescale", size + "; error: " + written.error().message());
      Note(kAbleToScale, "False", "FailedUpdateScale",
           "the HPA controller was unable to update the target scale: " + written.error().message());
      return SetSizes(before, hpa_.status.desired_replicas, std::move(statuses));
    }
    Note(kAbleToScale, "True", "SucceededRescale",
         "the HPA controller was able to update the target scale to " + std::to_string(replicas));
    ctx_.recorder().Normal(hpa_, "SuccessfulRescale", size);
    if (hpa_.spec.behavior) history_->Scaled(before, replicas, ctx_.Now());
    if (before > 0 && replicas == 0 && HasOutsideMetric())
      Note(kScaledToZero, "True", "ScaledToZero", "the HPA controller scaled the workload to zero");
    else
      Note(kScaledToZero, "False", "NotScaledToZero",
           "the HPA controller did not scale the workload to zero");
    hpa_.status.last_scale_time = api::Time::From(ctx_.Now());
    SetSizes(before, replicas, std::move(statuses));
  }

  // A target that has changed since it was read is read again, and scaled all the same. The controller may
  // update scales, but not patch them.
  Result<json::Value> WriteScale(int replicas) {
    constexpr int kAttempts = 5;  // upstream: retry.DefaultRetry
    WriteParams params;
    params.subresource = "scale";
    for (int attempt = 1;; ++attempt) {
      json::Value wanted = read_;
      wanted["spec"]["replicas"] = replicas;
      auto written = ctx_.client().Dynamic(target_).Update(std::move(wanted), params);
      if (written || !written.error().Is(Reason::kConflict) || attempt == kAttempts) return written;
      if (const Status found = FindScale(); !found) return written;
    }
  }

  // The pods of the target. Nothing, with the reason noted, if that cannot be said.
  std::optional<ReplicaCalculator::Pods> SelectPods() {
    const std::string& text = scale_.status.selector;
    if (text.empty()) {
      RefuseSelector("SelectorRequired", "selector is required", "InvalidSelector",
                     "the HPA target's scale is missing a selector");
      return std::nullopt;
    }
    auto selector = api::LabelSelector::Parse(text);
    if (!selector) {
      const std::string why = "couldn't convert selector into a corresponding internal selector object: " +
                              selector.error().message();
      RefuseSelector("InvalidSelector", why, "InvalidSelector", why);
      return std::nullopt;
    }
    auto pods = ctx_.lister<Pod>().List(hpa_.metadata.namespace_, [&](const Pod& pod) {
      return ScalingMemory::MatchesLabels(*selector, pod);
    });
    memory_.SetSelector(hpa_.metadata.uid, hpa_.metadata.namespace_, hpa_.metadata.name,
                        std::move(*selector));
    const auto selecting = memory_.Selecting(hpa_.metadata.namespace_, pods);
    if (selecting.size() < 2) return pods;
    std::string names;
    for (const std::string& name : selecting) names += (names.empty() ? "" : " ") + name;
    const std::string why =
        "pods by selector " + text + " are controlled by more than one HPA (e.g. [" + names + "])";
    RefuseSelector("AmbiguousSelector", why, "AmbiguousSelector", why);
    return std::nullopt;
  }

  void RefuseSelector(const char* event, const std::string& why, const char* reason,
                      const std::string& message) {
    ctx_.recorder().Warning(hpa_, event, why);
    Note(kScalingActive, "False", reason, message);
    ReportNoSize(why);
  }

  Tolerances TolerancesOf() const {
    Tolerances tolerances;
    if (!hpa_.spec.behavior) return tolerances;
    const auto& up = hpa_.spec.behavior->scale_up;
    const auto& down = hpa_.spec.behavior->scale_down;
    if (up && up->tolerance) tolerances.up = up->tolerance->ToDouble();
    if (down && down->tolerance) tolerances.down = down->tolerance->ToDouble();
    return tolerances;
  }

  // "services", "ingresses.networking.k8s.io".
  Result<std::string> ResourceOf(const CrossVersionObjectReference& object) const {
    FLYBALL_ASSIGN(const KindRef kind, kinds_.Find(object.api_version, object.kind));
    return kind.GroupResource();
  }

  // What asks for most. Nothing, with the reason noted, if no metric can be read, or one cannot and the
  // others ask for fewer pods than there are.
  std::optional<MetricProposal> EvaluateMetrics(std::vector<MetricStatus>& statuses) {
    auto pods = SelectPods();
    if (!pods) return std::nullopt;
    const MetricReader reader(ctx_.client(), hpa_.metadata.namespace_);
    const ReplicaCalculator calculator(std::move(*pods), TolerancesOf(), ctx_.Now());
    const MetricTargets targets{scale_.spec.replicas, scale_.status.replicas, scale_.status.selector,
                                [this](const auto& object) { return ResourceOf(object); }};
    const MetricEvaluation evaluation(reader, calculator, targets);
    MetricProposal best;
    std::optional<MetricFailure> first;
    std::size_t failed = 0;
    for (std::size_t i = 0; i < hpa_.spec.metrics.size(); ++i) {
      MetricProposal proposal;
      if (auto failure = evaluation.Propose(hpa_.spec.metrics[i], proposal)) {
        ctx_.recorder().Warning(hpa_, failure->reason, failure->message);
        if (failed++ == 0) first = std::move(failure);
        continue;
      }
      statuses[i] = proposal.status;
      if (best.metric.empty() || best.replicas == 0 || proposal.replicas > best.replicas)
        best = std::move(proposal);
    }
    if (failed == hpa_.spec.metrics.size() || (failed > 0 && best.replicas < scale_.spec.replicas)) {
      ReportFailure(first.value_or(MetricFailure{}), failed);
      return std::nullopt;
    }
    Note(kScalingActive, "True", "ValidMetricFound",
         "the HPA was able to successfully calculate a replica count from " + best.metric);
    return best;
  }

  void ReportFailure(const MetricFailure& first, std::size_t failed) {
    Note(kScalingActive, "False", first.reason,
         "the HPA was unable to compute the replica count: " + first.message);
    ReportNoSize("invalid metrics (" + std::to_string(failed) + " invalid out of " +
                 std::to_string(hpa_.spec.metrics.size()) + "), first error is: failed to get " +
                 first.value + ": " + first.message);
  }

  void ReportNoSize(const std::string& why) {
    ctx_.recorder().Warning(hpa_, "FailedComputeMetricsReplicas", why);
  }

  void Fail(const char* reason, const std::string& what, const std::string& why) {
    ctx_.recorder().Warning(hpa_, reason, why);
    Note(kAbleToScale, "False", reason, "the HPA controller was " + what + ": " + why);
  }

  void Note(const char* type, const char* status, std::string reason, std::string message) {
    SetCondition(hpa_.status.conditions,
                 MakeCondition<HorizontalPodAutoscalerCondition>(type, status, std::move(reason),
                                                                 std::move(message), ctx_.Now()),
                 api::Time::From(ctx_.Now()));
  }

  void SetSizes(int current, int desired, std::vector<MetricStatus> metrics) {
    hpa_.status.current_replicas = current;
    hpa_.status.desired_replicas = desired;
    hpa_.status.current_metrics = std::move(metrics);
    hpa_.status.observed_generation = hpa_.metadata.generation;
  }

  HorizontalPodAutoscaler hpa_;  // with the status as this evaluation builds it
  const HorizontalPodAutoscalerStatus before_;
  ServedKinds& kinds_;
  ScalingMemory& memory_;
  Context& ctx_;
  std::shared_ptr<ScalingHistory> history_;
  KindRef target_;
  json::Value read_;  // the scale as it was read
  Scale scale_;
};

}  // namespace

Status AddHorizontalPodAutoscaler(Manager& manager, int workers) {
  const auto kinds = ServedKinds::Make(manager);
  const auto memory = std::make_shared<ScalingMemory>();
  // Evaluated when it appears and then once per period, whatever changes in between (as upstream), so that
  // its conditions show the last result for that long.
  Predicates<HorizontalPodAutoscaler> comes_or_goes;
  comes_or_goes.update = [](const HorizontalPodAutoscaler&, const HorizontalPodAutoscaler&) { return false; };
  return manager.For<HorizontalPodAutoscaler>()
      .Named("horizontal-pod-autoscaler-controller")
      .EventSource("horizontal-pod-autoscaler")
      .When(std::move(comes_or_goes))
      .Uses<Pod>()
      .Workers(workers)
      .Reconcile([kinds, memory](const HorizontalPodAutoscaler& hpa, Context& ctx) {
        return HorizontalSync(hpa, *kinds, *memory, ctx).Run();
      });
}

}  // namespace flyball::controllers
