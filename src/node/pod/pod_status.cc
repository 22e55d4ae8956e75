// What a PodWorker writes about its pod.
#include <algorithm>

#include "base/observe/log.h"
#include "json/json.h"
#include "node/pod/pod_worker.h"

namespace flyball::node {
namespace {

constexpr Duration kFirstWriteRetry = std::chrono::seconds(1);
constexpr int kMaxWriteRetryDoublings = 5;

std::string Listed(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? " " : "") + name;
  return text + "]";
}

api::Quantity AmountOf(const std::map<std::string, api::Quantity>& list, const char* name) {
  const auto found = list.find(name);
  return found == list.end() ? api::Quantity() : found->second;
}

PodCondition Condition(const char* type, bool status, const char* reason = "", std::string message = {}) {
  return {.type = type, .status = status ? "True" : "False", .reason = reason, .message = std::move(message)};
}

// What the pod's readiness gates say once its containers are ready (upstream: GeneratePodReadyCondition).
PodCondition GatedReady(const Pod& pod) {
  std::string unmet;
  for (const PodReadinessGate& gate : pod.spec.readiness_gates) {
    const PodCondition* found = nullptr;
    for (const PodCondition& condition : pod.status.conditions)
      if (condition.type == gate.condition_type) found = &condition;
    if (found && found->status == "True") continue;
    if (!unmet.empty()) unmet += ", ";
    unmet += found ? "the status of pod readiness gate \"" + gate.condition_type +
                         "\" is not \"True\", but " + found->status
                   : "corresponding condition of pod readiness gate \"" + gate.condition_type +
                         "\" does not exist.";
  }
  if (unmet.empty()) return Condition("Ready", true);
  return Condition("Ready", false, "ReadinessGatesNotReady", std::move(unmet));
}

// Lists of addresses are merged by address: without this, one that the pod had before would stay.
void ReplaceWhole(json::Value& status, const char* list) {
  if (status.Find(list)) status[list].as_array().push_back(json::Object{{"$patch", "replace"}});
}

// Conditions are merged by type, member by member: what one said before and does not say any more is removed.
void RemoveOldReasons(json::Value& status, const PodStatus& before) {
  if (!status.Find("conditions")) return;
  for (json::Value& condition : status["conditions"].as_array())
    for (const PodCondition& known : before.conditions) {
      if (condition["type"].string_or("") != known.type) continue;
      if (!known.reason.empty() && !condition.Find("reason")) condition["reason"] = nullptr;
      if (!known.message.empty() && !condition.Find("message")) condition["message"] = nullptr;
    }
}

}  // namespace

ContainerStatus PodWorker::MakeContainerStatus(const ContainerUnit& unit) const {
  ContainerStatus status{.name = unit.name,
                         .ready = unit.ready || (unit.init && !unit.sidecar && unit.exited_well()),
                         .restart_count = unit.restarts,
                         .image = SpecOf(unit).image,
                         .image_id = unit.image_id,
                         .container_id = unit.id,
                         .started = unit.running() && unit.started};
  if (unit.ephemeral) {  // nobody asks it whether it is ready
    status.ready = false;
    status.started.reset();
  } else if (unit.running()) {
    status.resources = unit.resources;
    status.allocated_resources = unit.resources.requests;
  }
  if (unit.running()) {
    status.state.running = ContainerStateRunning{.started_at = unit.started_at};
    if (unit.previous) status.last_state.terminated = *unit.previous;
  } else if (unit.ended && unit.state == ContainerUnit::State::kExited) {
    status.state.terminated = *unit.ended;
    if (unit.previous) status.last_state.terminated = *unit.previous;
  } else {
    std::string reason = unit.waiting_reason;
    if (reason.empty()) reason = pod_->spec.init_containers.empty() ? "ContainerCreating" : "PodInitializing";
    status.state.waiting = ContainerStateWaiting{.reason = reason, .message = unit.waiting_message};
    if (unit.ended)
      status.last_state.terminated = *unit.ended;
    else if (unit.previous)
      status.last_state.terminated = *unit.previous;
  }
  return status;
}

// Upstream: getPhase.
std::string PodWorker::Phase() const {
  int waiting = 0, running = 0, stopped = 0, succeeded = 0;
  if (!failure_reason_.empty() &&
      std::none_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->running(); }))
    return "Failed";
  for (const auto& unit : units_) {
    if (unit->ephemeral) continue;
    if (unit->init) {
      if (unit->sidecar || unit->exited_well()) continue;
      // What was stopped before it could start has failed (upstream: TerminatePod).
      if (state_ == State::kStopped) return "Failed";
      const bool over = unit->state == ContainerUnit::State::kExited;
      return over && !ShouldRestart(*unit) ? "Failed" : "Pending";
    }
    if (unit->running())
      ++running;
    else if (unit->state == ContainerUnit::State::kExited || unit->ended)
      ++stopped, succeeded += unit->ended && unit->ended->exit_code == 0 ? 1 : 0;
    else
      ++waiting;
  }
  if (state_ == State::kStopped && (waiting > 0 || stopped == 0)) return "Failed";
  if (waiting > 0) return "Pending";
  if (running > 0) return "Running";
  if (stopped == 0) return "Pending";
  const bool over = state_ == State::kEnded || state_ == State::kStopped;
  const bool goes_on = std::any_of(units_.begin(), units_.end(),
                                   [&](const auto& unit) { return unit->main() && ShouldRestart(*unit); });
  if (!over && goes_on) return "Running";
  return succeeded == stopped ? "Succeeded" : "Failed";
}

void PodWorker::AddConditions(PodStatus& status) const {
  std::vector<std::string> incomplete, unready;
  for (const auto& unit : units_) {
    if (unit->init && !unit->init_done()) incomplete.push_back(unit->name);
    if ((unit->main() || unit->sidecar) && !unit->ready) unready.push_back(unit->name);
  }
  if (!resize_error_.empty())
    status.conditions.push_back(Condition("PodResizeInProgress", true, "Error", resize_error_));
  if (disrupted_)
    status.conditions.push_back(
        Condition("DisruptionTarget", true, "TerminationByKubelet", failure_message_));
  const bool succeeded = status.phase == "Succeeded";
  const bool failed = status.phase == "Failed";
  auto& conditions = status.conditions;
  conditions.push_back(
      Condition("PodReadyToStartContainers", state_ != State::kStopped && !failed && !succeeded));
  if (succeeded || incomplete.empty())
    conditions.push_back(Condition("Initialized", true, succeeded ? "PodCompleted" : ""));
  else
    conditions.push_back(Condition("Initialized", false, "ContainersNotInitialized",
                                   "containers with incomplete status: " + Listed(incomplete)));
  for (const char* type : {"Ready", "ContainersReady"}) {
    if (succeeded)
      conditions.push_back(Condition(type, false, "PodCompleted"));
    else if (failed)
      conditions.push_back(Condition(type, false, "PodFailed"));
    else if (unready.empty())
      conditions.push_back(std::string_view(type) == "Ready" ? GatedReady(*pod_) : Condition(type, true));
    else
      conditions.push_back(
          Condition(type, false, "ContainersNotReady", "containers with unready status: " + Listed(unready)));
  }
}

PodStatus PodWorker::MakeStatus() const {
  PodStatus status;
  for (const auto& unit : units_) {
    auto& list = unit->init        ? status.init_container_statuses
                 : unit->ephemeral ? status.ephemeral_container_statuses
                                   : status.container_statuses;
    list.push_back(MakeContainerStatus(*unit));
  }
  status.phase = Phase();
  status.reason = failure_reason_;
  status.message = failure_message_;
  status.host_ip = context_.host_ips.front();
  for (const std::string& ip : context_.host_ips) status.host_ips.push_back({.ip = ip});
  status.start_time = start_time_;
  status.observed_generation = pod_->metadata.generation;
  status.pod_ip = pod_ip();
  for (const std::string& ip : pod_ips_) status.pod_ips.push_back({.ip = ip});
  if (pod_->spec.resources) {
    status.resources = *pod_->spec.resources;
    status.allocated_resources = pod_->spec.resources->requests;
  }
  AddConditions(status);
  for (PodCondition& condition : status.conditions) {
    condition.observed_generation = pod_->metadata.generation;
    condition.last_transition_time = Now();
    if (!written_) continue;
    for (const PodCondition& known : written_->conditions)
      if (known.type == condition.type && known.status == condition.status)
        condition.last_transition_time = known.last_transition_time;
  }
  return status;
}

PodStats PodWorker::Running(std::vector<UsageQuery>& queries) const {
  PodStats stats{.name = pod_->metadata.name,
                 .ns = pod_->metadata.namespace_,
                 .uid = pod_->metadata.uid,
                 .cgroup = context_.runtime.CgroupOf(*pod_),
                 .started_at = start_time_.ToTimePoint()};
  for (const auto& unit : units_) {
    if (!unit->running()) continue;
    const Container& spec = SpecOf(*unit);
    ContainerStats container{.name = unit->name, .id = unit->runtime_id, .image = spec.image};
    if (unit->started_at) container.started_at = unit->started_at->ToTimePoint();
    container.cpu_limit_milli = AmountOf(spec.resources.limits, "cpu").MilliValue();
    container.cpu_request_milli = AmountOf(spec.resources.requests, "cpu").MilliValue();
    container.memory_limit = AmountOf(spec.resources.limits, "memory").Value();
    queries.push_back(
        {.id = unit->runtime_id, .pod = pod_, .container = unit->name, .started_at = container.started_at});
    stats.containers.push_back(std::move(container));
  }
  return stats;
}

// One write at a time; what changes meanwhile goes with the next.
void PodWorker::WriteStatus() {
  if (writing_ || object_gone_ || (static_ && mirror_uid_.empty())) return;
  PodStatus status = MakeStatus();
  if (written_) {
    PodStatus known = *written_;
    std::erase_if(known.conditions, [&](const PodCondition& condition) {
      return std::none_of(status.conditions.begin(), status.conditions.end(),
                          [&](const PodCondition& ours) { return ours.type == condition.type; });
    });
    known.qos_class = status.qos_class;
    if (known == status) return;
  }
  json::Value body = ToJson(status);
  ReplaceWhole(body, "podIPs");
  ReplaceWhole(body, "hostIPs");
  if (written_) RemoveOldReasons(body, *written_);
  const json::Value patch =
      json::Object{{"metadata", json::Object{{"uid", static_ ? mirror_uid_ : pod_->metadata.uid}}},
                   {"status", std::move(body)}};
  writing_ = true;
  written_ = std::move(status);
  context_.client.Of<Pod>().PatchAsync(
      pod_->metadata.namespace_, pod_->metadata.name, PatchType::kStrategicMerge, patch,
      {.subresource = "status"},
      [weak = weak_from_this(), context = keep_](const Result<json::Value>& result) {
        const Status status_of_write = result ? Status() : Status(Unexpected(result.error()));
        context->strand.Post([weak, status_of_write] {
          if (const auto self = weak.lock()) self->StatusWritten(status_of_write);
        });
      });
}

void PodWorker::StatusWritten(const Status& result) {
  writing_ = false;
  const bool gone = !result && (result.error().Is(Reason::kNotFound) || result.error().Is(Reason::kConflict));
  if (!result && !gone) {
    log::Warning("status of pod not written, will try again",
                 {{"pod", pod_->metadata.name}, {"error", result.error().ToString()}});
    written_.reset();
    const int doublings = std::min(write_failures_++, kMaxWriteRetryDoublings);
    context_.strand.PostAfter(kFirstWriteRetry * (1 << doublings),
                              OnStrand([](PodWorker& self) { self.WriteStatus(); }));
    return;
  }
  write_failures_ = 0;
  if (!gone) WriteStatus();
  if (state_ == State::kStopped && volumes_gone_ && !writing_ && !object_gone_) DeleteObject();
}

}  // namespace flyball::node
