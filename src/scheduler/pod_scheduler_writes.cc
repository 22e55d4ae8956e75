// What the scheduler writes: bindings, conditions, evictions, events.
#include "api/values/time.h"
#include "base/observe/log.h"
#include "controller/objects/owner.h"
#include "json/json.h"
#include "scheduler/devices/claim_writer.h"
#include "scheduler/pod_scheduler.h"

namespace flyball::scheduler {
namespace {

json::Value BindingOf(const Pod& pod, const std::string& node) {
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Binding"},
                      {"metadata", json::Object{{"name", pod.metadata.name},
                                                {"namespace", pod.metadata.namespace_},
                                                {"uid", pod.metadata.uid}}},
                      {"target", json::Object{{"kind", "Node"}, {"name", node}}}};
}

json::Value ConditionPatch(const Pod& pod, std::string_view type, std::string_view status,
                           std::string_view reason, const std::string& message, TimePoint now) {
  const PodCondition* known = FindCondition(pod.status.conditions, type);
  const std::string since = known && known->status == status && known->last_transition_time
                                ? api::FormatTime(*known->last_transition_time)
                                : api::FormatTime(now);
  json::Object condition{{"type", type},       {"status", status},         {"reason", reason},
                         {"message", message}, {"lastProbeTime", nullptr}, {"lastTransitionTime", since}};
  if (pod.metadata.generation > 0)
    condition.Set("observedGeneration", static_cast<long>(pod.metadata.generation));
  return json::Object{{"conditions", json::Array{json::Value(std::move(condition))}}};
}

}  // namespace

void PodScheduler::BindClaims(const PodInfoPtr& pod, const std::string& node, std::vector<ClaimPlan> plans) {
  std::vector<std::string> promised;
  for (const ClaimPlan& plan : plans) {
    devices_.Promise(plan);
    promised.push_back(plan.claim->metadata.uid);
  }
  ClaimWriter::Start(client_, pod->pod, std::move(plans),
                     [weak = weak_from_this(), pod, node, promised](const Status& status) {
                       const auto self = weak.lock();
                       if (!self) return;
                       self->OnStrand([pod, node, promised, status](PodScheduler& s) {
                         if (status) return s.Bind(pod, node);
                         for (const std::string& uid : promised) s.devices_.Forget(uid);
                         s.BindDone(pod, node, status);
                       });
                     });
}

void PodScheduler::Bind(const PodInfoPtr& pod, const std::string& node) {
  RestRequest request{.verb = "POST",
                      .path = KindRefOf<Pod>().Path(pod->ns(), pod->name(), "binding"),
                      .body = json::Write(BindingOf(*pod->pod, node))};
  client_.rest().Start(
      std::move(request), [weak = weak_from_this(), pod, node](Result<RestResponse> response) {
        const auto self = weak.lock();
        if (!self) return;
        const Status status = response ? Status() : Status(Unexpected(response.error()));
        self->OnStrand([pod, node, status](PodScheduler& s) { s.BindDone(pod, node, status); });
      });
}

void PodScheduler::BindDone(const PodInfoPtr& pod, const std::string& node, const Status& status) {
  if (status) {
    queue_.Remove(pod->uid());
    recorder_.Normal(*pod->pod, "Scheduled",
                     "Successfully assigned " + pod->ns() + "/" + pod->name() + " to " + node);
    return;
  }
  // Someone else may have bound it in the meantime. Then the informer has reported that, and the pod is not
  // ours.
  if (!queue_.Contains(pod->uid())) return;
  log::Warning("pod was not bound",
               {{"pod", pod->ns() + "/" + pod->name()}, {"error", status.error().ToString()}});
  cluster_.RemovePod(pod->uid());
  if (status.error().Is(Reason::kNotFound)) {
    queue_.Remove(pod->uid());
  } else {
    recorder_.Warning(*pod->pod, "FailedScheduling", "binding rejected: " + status.error().message());
    queue_.Fail(pod->uid(), Now());
  }
  RoomMade(node);
  ArmTimer();
}

void PodScheduler::NoPlace(const PodInfoPtr& pod, const Snapshot& snapshot, const Placement& placement) {
  const PreemptionResult preemption = FindVictims(*pod, snapshot, placement, budgets_.List());
  const std::string message =
      placement.message + (preemption.message.empty() ? "" : " " + preemption.message);
  queue_.Park(pod->uid(), Now());
  recorder_.Warning(*pod->pod, "FailedScheduling", message);
  ReportUnschedulable(*pod->pod, message, preemption.node);
  if (!preemption.node.empty()) {
    cluster_.Nominate(pod, preemption.node);
    Evict(pod, preemption);
  }
  ArmTimer();
}

void PodScheduler::ReportUnschedulable(const Pod& pod, const std::string& message,
                                       const std::string& nominated) {
  const PodCondition* known = FindCondition(pod.status.conditions, "PodScheduled");
  const bool same = known && known->status == "False" && known->message == message;
  if (same && (nominated.empty() || nominated == pod.status.nominated_node_name)) return;
  json::Value status =
      ConditionPatch(pod, "PodScheduled", "False", "Unschedulable", message, strand_.clock().Now());
  if (!nominated.empty()) status["nominatedNodeName"] = nominated;
  const json::Value patch =
      json::Object{{"metadata", json::Object{{"uid", pod.metadata.uid}}}, {"status", std::move(status)}};
  client_.Of<Pod>().PatchAsync(
      pod.metadata.namespace_, pod.metadata.name, PatchType::kStrategicMerge, patch,
      {.subresource = "status"}, [name = pod.metadata.name](const Result<json::Value>& result) {
        if (!result && !result.error().Is(Reason::kNotFound))
          log::Warning("condition of pod not written", {{"pod", name}, {"error", result.error().ToString()}});
      });
}

void PodScheduler::Evict(const PodInfoPtr& pod, const PreemptionResult& result) {
  const std::string why = options_.scheduler_name + ": preempting to accommodate a higher priority pod";
  for (const PodInfoPtr& victim : result.victims) {
    if (victim->pod->metadata.deletion_timestamp) continue;
    const json::Value patch =
        json::Object{{"status", ConditionPatch(*victim->pod, "DisruptionTarget", "True",
                                               "PreemptionByScheduler", why, strand_.clock().Now())}};
    const Client client = client_;
    client.Of<Pod>().PatchAsync(victim->ns(), victim->name(), PatchType::kStrategicMerge, patch,
                                {.subresource = "status"}, [client, victim](const Result<json::Value>&) {
                                  client.Of<Pod>().DeleteAsync(victim->ns(), victim->name(),
                                                               {.uid = victim->uid()},
                                                               [](const Result<json::Value>&) {});
                                });
    recorder_.Normal(*victim->pod, "Preempted", "Preempted by pod " + pod->uid() + " on node " + result.node);
  }
}

}  // namespace flyball::scheduler
