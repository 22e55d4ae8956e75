#include "node/pod_worker.h"

#include <algorithm>

#include "json/json.h"

namespace flyball::node {
namespace {

constexpr Duration kFirstBackoff = std::chrono::seconds(10);  // kubelet's CrashLoopBackOff
constexpr Duration kLongestBackoff = std::chrono::minutes(5);
constexpr Duration kHealthyAfter = std::chrono::minutes(10);  // a run this long forgets earlier crashes
constexpr Duration kRetryStatus = std::chrono::seconds(1);

std::string Describe(const Pod& pod) {
  return pod.metadata.name + "_" + pod.metadata.namespace_ + "(" + pod.metadata.uid + ")";
}

}  // namespace

PodWorker::PodWorker(const NodeContext& context, std::shared_ptr<const Pod> pod, Closure on_gone)
    : context_(context), strand_(context.executor), on_gone_(std::move(on_gone)), pod_(std::move(pod)) {}

void PodWorker::Start() {
  strand_.Post([self = shared_from_this()] { self->Begin(); });
}

void PodWorker::Update(std::shared_ptr<const Pod> pod) {
  strand_.Post([self = shared_from_this(), pod = std::move(pod)]() mutable {
    self->pod_ = std::move(pod);
    self->Advance();
  });
}

void PodWorker::Removed() {
  strand_.Post([self = shared_from_this()] {
    self->removed_ = true;
    if (self->state_ != State::kStopping) self->BeginStop();
    for (auto& unit : self->units_)
      if (unit.phase == Phase::kRunning)
        self->context_.runtime.Stop(self->pod_->metadata.uid, unit.container.name, true);
    self->FinishStop();
  });
}

// What an earlier run of this agent knew of the pod is in its status: restarts go on counting from there.
void PodWorker::Begin() {
  const auto add = [&](const std::vector<Container>& containers, const std::vector<ContainerStatus>& known,
                       bool init) {
    for (const auto& container : containers) {
      Unit unit;
      unit.container = container;
      unit.init = init;
      for (const auto& status : known) {
        if (status.name != container.name) continue;
        const bool ran = status.state.running || status.state.terminated;
        unit.restarts = status.restart_count + (ran && !init ? 1 : 0);
      }
      if (init) unit.waiting_reason = "PodInitializing";
      units_.push_back(std::move(unit));
    }
  };
  add(pod_->spec.init_containers, pod_->status.init_container_statuses, true);
  add(pod_->spec.containers, pod_->status.container_statuses, false);
  start_time_ = pod_->status.start_time ? pod_->status.start_time->ToTimePoint() : strand_.clock().Now();
  address_ = pod_->spec.host_network ? context_.node_address : context_.runtime.PodAddress();
  if (pod_->status.phase == "Succeeded" || pod_->status.phase == "Failed") {
    state_ = State::kFinished;
    for (auto& unit : units_) unit.phase = Phase::kDone;
  }
  Advance();
}

void PodWorker::Advance() {
  if (state_ == State::kGone) return;
  if (pod_->metadata.deletion_timestamp && state_ != State::kStopping) {
    BeginStop();
    FinishStop();
    return;
  }
  if (state_ == State::kStopping || state_ == State::kFinished) return;
  // Init containers one after another; then all others together.
  for (std::size_t i = 0; i < units_.size(); ++i) {
    auto& unit = units_[i];
    if (unit.phase == Phase::kWaiting && unit.timer == kNoTimer) StartUnit(i);
    if (unit.init && !(unit.phase == Phase::kDone && unit.exit.exit_code == 0) &&
        unit.container.restart_policy.value_or("") != "Always")
      break;
  }
  const bool all_started =
      std::all_of(units_.begin(), units_.end(), [](const Unit& u) { return u.phase != Phase::kWaiting; });
  if (all_started && state_ == State::kStarting) state_ = State::kRunning;
  const auto phase = PodPhase();
  if (phase == "Succeeded" || phase == "Failed") state_ = State::kFinished;
  WriteStatus();
}

void PodWorker::StartUnit(std::size_t index) {
  auto& unit = units_[index];
  const auto& image = unit.container.image;
  if (auto present = context_.runtime.CheckImage(image); !present) {
    const bool again = unit.waiting_reason == "ErrImagePull" || unit.waiting_reason == "ImagePullBackOff";
    Event("Warning", unit, "Failed", "Failed to pull image \"" + image + "\": " + present.error().message());
    Event("Warning", unit, "Failed", "Error: ErrImagePull");
    Retry(index, std::clamp(unit.backoff * 2, kFirstBackoff, kLongestBackoff),
          again ? "ImagePullBackOff" : "ErrImagePull", present.error().message());
    return;
  }
  auto spec = SpecOf(unit);
  if (!spec) {
    Event("Warning", unit, "Failed", "Error: " + spec.error().message());
    Retry(index, kFirstBackoff, "CreateContainerConfigError", spec.error().message());
    return;
  }
  Event("Normal", unit, "Pulled", "Container image \"" + image + "\" already present on machine");
  auto on_exit = [self = shared_from_this(), index, attempt = unit.restarts](ContainerExit exit) {
    self->strand_.Post([self, index, attempt, exit] { self->OnExit(index, attempt, exit); });
  };
  if (auto started = context_.runtime.Start(*spec, std::move(on_exit)); !started) {
    Event("Warning", unit, "Failed", "Error: " + started.error().message());
    Retry(index, std::clamp(unit.backoff * 2, kFirstBackoff, kLongestBackoff), "RunContainerError",
          started.error().message());
    return;
  }
  unit.phase = Phase::kRunning;
  unit.started = strand_.clock().Now();
  Event("Normal", unit, "Created", "Created container: " + unit.container.name);
  Event("Normal", unit, "Started", "Started container " + unit.container.name);
}

void PodWorker::Retry(std::size_t index, Duration delay, std::string reason, std::string message) {
  auto& unit = units_[index];
  unit.phase = Phase::kWaiting;
  unit.waiting_reason = std::move(reason);
  unit.waiting_message = std::move(message);
  unit.backoff = delay;
  unit.timer = strand_.PostAfter(delay, [self = shared_from_this(), index] {
    self->units_[index].timer = kNoTimer;
    self->Advance();
  });
}

bool PodWorker::ShouldRestart(const Unit& unit) const {
  const auto& policy = pod_->spec.restart_policy;
  if (unit.init) return unit.exit.exit_code != 0 && policy != "Never";
  if (policy == "Never") return false;
  return policy != "OnFailure" || unit.exit.exit_code != 0;
}

void PodWorker::OnExit(std::size_t index, int attempt, ContainerExit exit) {
  auto& unit = units_[index];
  if (unit.phase != Phase::kRunning || unit.restarts != attempt) return;
  unit.phase = Phase::kDone;
  unit.exit = exit;
  unit.finished = strand_.clock().Now();
  if (state_ == State::kStopping) {
    FinishStop();
    return;
  }
  if (!ShouldRestart(unit)) {
    Advance();
    return;
  }
  unit.last = *StatusOf(unit).state.terminated;
  unit.exited_before = true;
  if (unit.finished - unit.started >= kHealthyAfter) unit.backoff = {};
  ++unit.restarts;
  if (unit.restarts == 1 || unit.backoff == Duration{}) {  // the first time at once
    unit.backoff = kFirstBackoff / 2;
    unit.phase = Phase::kWaiting;
    unit.waiting_reason = "ContainerCreating";
    Advance();
    return;
  }
  const std::string what =
      "restarting failed container " + unit.container.name + " in pod " + Describe(*pod_);
  Event("Warning", unit, "BackOff", "Back-off " + what);
  const Duration delay = std::clamp(unit.backoff * 2, kFirstBackoff, kLongestBackoff);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay).count();
  Retry(index, delay, "CrashLoopBackOff", "back-off " + std::to_string(seconds) + "s " + what);
  WriteStatus();
}

bool PodWorker::AnyRunning() const {
  return std::any_of(units_.begin(), units_.end(), [](const Unit& u) { return u.phase == Phase::kRunning; });
}

void PodWorker::BeginStop() {
  state_ = State::kStopping;
  for (auto& unit : units_) {
    if (unit.timer != kNoTimer) strand_.Cancel(unit.timer);
    unit.timer = kNoTimer;
    if (unit.phase != Phase::kRunning) continue;
    Event("Normal", unit, "Killing", "Stopping container " + unit.container.name);
    context_.runtime.Stop(pod_->metadata.uid, unit.container.name, false);
  }
  const auto grace = pod_->metadata.deletion_grace_period_seconds.value_or(30);
  grace_timer_ = strand_.PostAfter(std::chrono::seconds(grace), [self = shared_from_this()] {
    for (auto& unit : self->units_)
      if (unit.phase == Phase::kRunning)
        self->context_.runtime.Stop(self->pod_->metadata.uid, unit.container.name, true);
  });
}

void PodWorker::FinishStop() {
  if (state_ == State::kGone || AnyRunning()) return;
  strand_.Cancel(grace_timer_);
  state_ = State::kGone;
  context_.runtime.RemovePod(pod_->metadata.uid);
  if (!removed_) DeleteFromApi();
  on_gone_();
}

void PodWorker::DeleteFromApi() {
  DeleteParams params;
  params.grace_period_seconds = 0;
  params.uid = pod_->metadata.uid;
  const auto self = shared_from_this();
  context_.client.Of<Pod>().DeleteAsync(
      pod_->metadata.namespace_, pod_->metadata.name, params, [self](Result<json::Value> outcome) {
        if (outcome || outcome.error().Is(Reason::kNotFound) || outcome.error().Is(Reason::kConflict)) return;
        self->strand_.PostAfter(kRetryStatus, [self] { self->DeleteFromApi(); });
      });
}

void PodWorker::Event(const char* type, const Unit& unit, std::string_view reason,
                      const std::string& message) {
  EventTarget target = TargetOf(*pod_);
  target.field_path = (unit.init ? "spec.initContainers{" : "spec.containers{") + unit.container.name + "}";
  context_.events.Record(target, type, reason, message);
}

// One patch at a time; what changes meanwhile goes with the next.
void PodWorker::WriteStatus() {
  json::Value status = ToJson(StatusNow());
  if (sending_) {
    dirty_ = true;
    return;
  }
  if (status == sent_) return;
  SendStatus(std::move(status));
}

void PodWorker::SendStatus(json::Value status) {
  sending_ = true;
  dirty_ = false;
  sent_ = status;
  json::Value patch =
      json::Object{{"metadata", json::Object{{"uid", pod_->metadata.uid}}}, {"status", std::move(status)}};
  PatchParams params;
  params.subresource = "status";
  const auto self = shared_from_this();
  context_.client.Of<Pod>().PatchAsync(
      pod_->metadata.namespace_, pod_->metadata.name, PatchType::kStrategicMerge, patch, params,
      [self](Result<json::Value> outcome) {
        const bool retry = !outcome && outcome.error().IsRetryable();
        self->strand_.PostAfter(retry ? kRetryStatus : Duration{}, [self, retry] {
          self->sending_ = false;
          if (retry) self->sent_ = json::Value();
          if ((retry || self->dirty_) && self->state_ != State::kGone) self->WriteStatus();
        });
      });
}

}  // namespace flyball::node
