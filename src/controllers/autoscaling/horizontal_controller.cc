#include "controllers/autoscaling/horizontal_controller.h"

#include <memory>
#include <string>
#include <utility>

#include "api/types/autoscaling.h"
#include "client/discovery.h"
#include "controller/objects/condition.h"
#include "controller/objects/owner.h"
#include "controller/objects/served_kinds.h"
#include "controllers/autoscaling/metric_reading.h"

namespace flyball::controllers {
namespace {

// Upstream: horizontal-pod-autoscaler-sync-period. Also after a failure.
constexpr Duration kSyncPeriod = std::chrono::seconds(15);
constexpr char kAbleToScale[] = "AbleToScale";
constexpr char kScalingActive[] = "ScalingActive";

// One evaluation of one autoscaler. Confined to it.
class HorizontalSync {
 public:
  HorizontalSync(const HorizontalPodAutoscaler& hpa, ServedKinds& kinds, Context& ctx)
      : hpa_(hpa), before_(hpa.status), kinds_(kinds), ctx_(ctx) {}

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
    const int current = scale_.spec.replicas, least = hpa_.spec.min_replicas.value_or(1);
    if (current == 0 && least != 0) {
      Note(kScalingActive, "False", "ScalingDisabled",
           "scaling is disabled since the replica count of the target is zero");
      return SetSizes(current, current, {});
    }
    if (current > hpa_.spec.max_replicas)
      return Rescale(hpa_.spec.max_replicas, "Current number of replicas above Spec.MaxReplicas");
    if (current < least) return Rescale(least, "Current number of replicas below Spec.MinReplicas");
    ReadMetrics();
    // One empty entry per metric that could not be read, as upstream.
    SetSizes(current, hpa_.status.desired_replicas, std::vector<MetricStatus>(hpa_.spec.metrics.size()));
  }

  void Rescale(int replicas, const std::string& why) {
    const int before = scale_.spec.replicas;
    // Only if the target has not changed since it was read: the object has its version. The controller may
    // update scales, but not patch them.
    json::Value wanted = read_;
    wanted["spec"]["replicas"] = replicas;
    WriteParams params;
    params.subresource = "scale";
    const auto written = ctx_.client().Dynamic(target_).Update(std::move(wanted), params);
    const std::string size = "New size: " + std::to_string(replicas) + "; reason: " + why;
    if (!written) {
      ctx_.recorder().Warning(hpa_, "FailedRescale", size + "; error: " + written.error().message());
      Note(kAbleToScale, "False", "FailedUpdateScale",
           "the HPA controller was unable to update the target scale: " + written.error().message());
      return SetSizes(before, hpa_.status.desired_replicas, {});
    }
    Note(kAbleToScale, "True", "SucceededRescale",
         "the HPA controller was able to update the target scale to " + std::to_string(replicas));
    ctx_.recorder().Normal(hpa_, "SuccessfulRescale", size);
    // Without metrics nothing is scaled to zero.
    Note("ScaledToZero", "False", "NotScaledToZero", "the HPA controller did not scale the workload to zero");
    hpa_.status.last_scale_time = api::Time::From(ctx_.Now());
    SetSizes(before, replicas, {});
  }

  void ReadMetrics() {
    if (scale_.status.selector.empty()) {
      ctx_.recorder().Warning(hpa_, "SelectorRequired", "selector is required");
      Note(kScalingActive, "False", "InvalidSelector", "the HPA target's scale is missing a selector");
      return ReportNoSize("selector is required");
    }
    std::optional<MetricFailure> first;
    for (const MetricSpec& metric : hpa_.spec.metrics) {
      MetricFailure failure =
          ReadMetric(metric, hpa_.metadata.namespace_, scale_.status.selector, ctx_.client());
      ctx_.recorder().Warning(hpa_, failure.reason, failure.message);
      if (!first) first = std::move(failure);
    }
    if (!first) return;
    Note(kScalingActive, "False", first->reason,
         "the HPA was unable to compute the replica count: " + first->message);
    const std::string count = std::to_string(hpa_.spec.metrics.size());
    ReportNoSize("invalid metrics (" + count + " invalid out of " + count +
                 "), first error is: failed to get " + first->value + ": " + first->message);
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
  Context& ctx_;
  KindRef target_;
  json::Value read_;  // the scale as it was read
  Scale scale_;
};

}  // namespace

Status AddHorizontalPodAutoscaler(Manager& manager, int workers) {
  const auto kinds = ServedKinds::Make(manager);
  // Evaluated when it appears and then once per period, whatever changes in between (as upstream), so that
  // its conditions show the last result for that long.
  Predicates<HorizontalPodAutoscaler> comes_or_goes;
  comes_or_goes.update = [](const HorizontalPodAutoscaler&, const HorizontalPodAutoscaler&) { return false; };
  return manager.For<HorizontalPodAutoscaler>()
      .Named("horizontal-pod-autoscaler-controller")
      .EventSource("horizontal-pod-autoscaler")
      .When(std::move(comes_or_goes))
      .Workers(workers)
      .Reconcile([kinds](const HorizontalPodAutoscaler& hpa, Context& ctx) {
        return HorizontalSync(hpa, *kinds, ctx).Run();
      });
}

}  // namespace flyball::controllers
