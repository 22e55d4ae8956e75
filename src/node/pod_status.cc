// What a PodWorker reports: the pod's status from the state of its containers, and how a container is to be
// started.
#include <algorithm>

#include "node/pod_worker.h"

namespace flyball::node {
namespace {

PodCondition Condition(std::string type, bool on, TimePoint since, std::string reason) {
  PodCondition condition;
  condition.type = std::move(type);
  condition.status = on ? "True" : "False";
  if (!on) condition.reason = std::move(reason);
  condition.last_transition_time = api::Time::From(since);
  return condition;
}

// A condition that did not change keeps the time it has had.
void KeepTimes(std::vector<PodCondition>& conditions, const std::vector<PodCondition>& known) {
  for (auto& condition : conditions)
    for (const auto& old : known)
      if (old.type == condition.type && old.status == condition.status && old.last_transition_time)
        condition.last_transition_time = old.last_transition_time;
}

}  // namespace

ContainerStatus PodWorker::StatusOf(const Unit& unit) const {
  ContainerStatus status;
  status.name = unit.container.name;
  status.image = unit.container.image;
  status.restart_count = unit.restarts;
  status.started = unit.phase == Phase::kRunning;
  const std::string id =
      "flyball://" + pod_->metadata.uid + "/" + unit.container.name + "/" + std::to_string(unit.restarts);
  switch (unit.phase) {
    case Phase::kWaiting:
      status.state.waiting = ContainerStateWaiting{unit.waiting_reason, unit.waiting_message};
      break;
    case Phase::kRunning:
      status.state.running = ContainerStateRunning{api::Time::From(unit.started)};
      status.ready = !unit.init;
      status.container_id = id;
      status.image_id = unit.container.image;
      break;
    case Phase::kDone: {
      ContainerStateTerminated ended;
      ended.exit_code = unit.exit.exit_code;
      ended.signal = unit.exit.signal;
      ended.reason = unit.exit.exit_code == 0 ? "Completed" : "Error";
      ended.started_at = api::Time::From(unit.started);
      ended.finished_at = api::Time::From(unit.finished);
      ended.container_id = id;
      status.state.terminated = ended;
      status.ready = unit.init && unit.exit.exit_code == 0;
      status.container_id = id;
      status.image_id = unit.container.image;
      break;
    }
  }
  if (unit.exited_before) status.last_state.terminated = unit.last;
  return status;
}

std::string PodWorker::PodPhase() const {
  if (state_ == State::kFinished && !pod_->status.phase.empty() && pod_->status.phase != "Pending" &&
      pod_->status.phase != "Running")
    return pod_->status.phase;
  bool waiting = false, running = false, failed = false;
  for (const auto& unit : units_) {
    if (unit.init) {
      if (unit.phase == Phase::kDone && unit.exit.exit_code != 0 && !ShouldRestart(unit)) return "Failed";
      waiting |= unit.phase != Phase::kDone && unit.restarts == 0;
      continue;
    }
    waiting |= unit.phase == Phase::kWaiting && unit.restarts == 0;
    running |= unit.phase == Phase::kRunning || (unit.phase == Phase::kWaiting && unit.restarts > 0);
    failed |= unit.phase == Phase::kDone && unit.exit.exit_code != 0;
  }
  if (waiting) return "Pending";
  if (running) return "Running";
  return failed ? "Failed" : "Succeeded";
}

PodStatus PodWorker::StatusNow() const {
  PodStatus status;
  status.phase = PodPhase();
  status.host_ip = context_.node_address;
  status.host_ips = {HostIP{context_.node_address}};
  status.pod_ip = address_;
  status.pod_ips = {PodIP{address_}};
  status.start_time = api::Time::From(start_time_);
  status.observed_generation = pod_->metadata.generation;
  bool initialized = true, ready = !units_.empty();
  for (const auto& unit : units_) {
    auto container = StatusOf(unit);
    if (unit.init) {
      initialized &= unit.phase == Phase::kDone && unit.exit.exit_code == 0;
      status.init_container_statuses.push_back(std::move(container));
    } else {
      ready &= container.ready;
      status.container_statuses.push_back(std::move(container));
    }
  }
  const bool over = status.phase == "Succeeded" || status.phase == "Failed";
  const std::string why = status.phase == "Succeeded" ? "PodCompleted"
                          : over                      ? "PodFailed"
                                                      : "ContainersNotReady";
  const TimePoint now = strand_.clock().Now();
  status.conditions = {Condition("PodReadyToStartContainers", !over, now, ""),
                       Condition("Initialized", initialized, now, "ContainersNotInitialized"),
                       Condition("Ready", ready && initialized, now, why),
                       Condition("ContainersReady", ready && initialized, now, why),
                       Condition("PodScheduled", true, now, "")};
  KeepTimes(status.conditions, pod_->status.conditions);
  return status;
}

Result<std::string> PodWorker::EnvValue(const EnvVar& variable) const {
  if (!variable.value_from) return variable.value;
  if (const auto& field = variable.value_from->field_ref) {
    const auto& path = field->field_path;
    if (path == "metadata.name") return pod_->metadata.name;
    if (path == "metadata.namespace") return pod_->metadata.namespace_;
    if (path == "metadata.uid") return pod_->metadata.uid;
    if (path == "spec.nodeName") return pod_->spec.node_name;
    if (path == "spec.serviceAccountName") return pod_->spec.service_account_name;
    if (path == "status.podIP" || path == "status.podIPs") return address_;
    if (path == "status.hostIP" || path == "status.hostIPs") return context_.node_address;
    return Unexpected(
        BadRequest("environment variable " + variable.name + ": this node cannot read " + path));
  }
  return Unexpected(
      BadRequest("environment variable " + variable.name +
                 ": this node takes values and field references only, not ConfigMaps, Secrets or resources"));
}

Result<ContainerSpec> PodWorker::SpecOf(const Unit& unit) const {
  const auto& container = unit.container;
  ContainerSpec spec{pod_->metadata.uid,
                     pod_->metadata.namespace_,
                     pod_->metadata.name,
                     container.name,
                     container.image,
                     container.command,
                     {},
                     container.working_dir,
                     unit.restarts};
  spec.argv.insert(spec.argv.end(), container.args.begin(), container.args.end());
  spec.env.emplace_back("HOSTNAME", pod_->metadata.name);
  for (const auto& variable : container.env) {
    FLYBALL_ASSIGN(auto value, EnvValue(variable));
    spec.env.emplace_back(variable.name, std::move(value));
  }
  return spec;
}

}  // namespace flyball::node
