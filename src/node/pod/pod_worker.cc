#include "node/pod/pod_worker.h"

#include <algorithm>
#include <csignal>

#include "base/observe/log.h"

namespace flyball::node {
namespace {

std::string Seconds(Duration d) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  if (seconds < 60) return std::to_string(seconds) + "s";
  return std::to_string(seconds / 60) + "m" + std::to_string(seconds % 60) + "s";
}

// "web_default(4c1b...)", as kubelet names pods in messages.
std::string FullName(const Pod& pod) {
  return pod.metadata.name + "_" + pod.metadata.namespace_ + "(" + pod.metadata.uid + ")";
}

// Whether one of the container's rules says that it is restarted after this exit.
bool HasRestartRule(const Container& container, std::int32_t exit_code) {
  return std::any_of(container.restart_policy_rules.begin(), container.restart_policy_rules.end(),
                     [&](const auto& rule) {
                       if (rule.action != "Restart" || !rule.exit_codes) return false;
                       const auto& values = rule.exit_codes->values;
                       const bool listed = std::find(values.begin(), values.end(), exit_code) != values.end();
                       return rule.exit_codes->operator_ == "In" ? listed : !listed;
                     });
}

}  // namespace

Duration BackoffAfter(int failures) {
  Duration backoff = kFirstRestartBackoff;
  for (int i = 1; i < failures && backoff < kMaxRestartBackoff; ++i) backoff *= 2;
  return std::min(backoff, kMaxRestartBackoff);
}

PodWorker::PodWorker(std::shared_ptr<WorkerContext> context, PodPtr pod)
    : keep_(std::move(context)),
      context_(*keep_),
      pod_(std::move(pod)),
      start_time_(Now()),
      static_(IsStaticPod(*pod_)) {
  const PodSpec& spec = pod_->spec;
  for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
    auto unit = std::make_unique<ContainerUnit>();
    unit->name = spec.init_containers[i].name;
    unit->init = true;
    unit->sidecar = spec.init_containers[i].restart_policy == "Always";
    unit->index = i;
    units_.push_back(std::move(unit));
  }
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    auto unit = std::make_unique<ContainerUnit>();
    unit->name = spec.containers[i].name;
    unit->index = i;
    units_.push_back(std::move(unit));
  }
  AddEphemeral();
  Restore();
}

PodWorker::~PodWorker() {
  for (const auto& unit : units_)
    if (unit->prober) unit->prober->Stop();
  if (refresh_ != kNoTimer) context_.strand.Cancel(refresh_);
}

// What an agent before this one has written. What still runs of what it started is adopted later.
void PodWorker::Restore() {
  const PodStatus& status = pod_->status;
  for (const PodIP& ip : status.pod_ips) pod_ips_.push_back(ip.ip);
  if (status.start_time) {
    start_time_ = *status.start_time;
    written_ = status;
  }
  for (const auto& unit : units_)
    for (const auto* list :
         {&status.init_container_statuses, &status.container_statuses, &status.ephemeral_container_statuses})
      for (const ContainerStatus& known : *list)
        if (known.name == unit->name) RestoreUnit(*unit, known);
  if (status.phase == "Succeeded" || status.phase == "Failed") state_ = State::kEnded;
}

void PodWorker::RestoreUnit(ContainerUnit& unit, const ContainerStatus& known) {
  unit.restarts = known.restart_count;
  unit.starts = known.container_id.empty() ? 0 : known.restart_count + 1;
  unit.id = known.container_id;
  unit.image_id = known.image_id;
  if (known.last_state.terminated) unit.previous = *known.last_state.terminated;
  if (known.state.terminated) {
    unit.ended = *known.state.terminated;
  } else if (known.state.running) {
    unit.ended = ContainerStateTerminated{.exit_code = 137,
                                          .reason = kContainerLost,
                                          .message = "The container was lost when the node agent restarted",
                                          .started_at = known.state.running->started_at,
                                          .finished_at = Now(),
                                          .container_id = known.container_id};
  } else {
    return;
  }
  unit.state = ContainerUnit::State::kExited;
  // What is over stays over; everything else starts again, at once.
  if (ShouldRestart(unit)) unit.state = ContainerUnit::State::kWaiting;
}

const Container& PodWorker::SpecOf(const ContainerUnit& unit) const {
  if (unit.ephemeral) return *unit.ephemeral;
  return unit.init ? pod_->spec.init_containers[unit.index] : pod_->spec.containers[unit.index];
}

EventTarget PodWorker::TargetOf(const ContainerUnit& unit) const {
  EventTarget target = flyball::TargetOf(*pod_);
  const char* list = unit.init ? "initContainers" : unit.ephemeral ? "ephemeralContainers" : "containers";
  target.field_path = std::string("spec.") + list + "{" + unit.name + "}";
  return target;
}

FoundPod PodWorker::Describe(const std::string& container) const {
  FoundPod found{.pod_uid = pod_->metadata.uid,
                 .pod_ip = pod_ip(),
                 .network_namespace = has_own_network() ? network_namespace_ : ""};
  for (const auto& unit : units_) {
    if (unit->name != container || !unit->running()) continue;
    found.container_id = unit->runtime_id;
    found.tty = SpecOf(*unit).tty;
  }
  return found;
}

int PodWorker::LastAttempt(const std::string& container) const {
  for (const auto& unit : units_)
    if (unit->name == container) return unit->starts - 1;
  return -1;
}

std::string PodWorker::WhyNoLog(const std::string& container) const {
  const std::string which = "container \"" + container + "\" in pod \"" + pod_->metadata.name + "\" is ";
  for (const auto& unit : units_) {
    if (unit->name != container) continue;
    const auto& waiting = MakeContainerStatus(*unit).state.waiting;
    if (!waiting) continue;
    if (waiting->reason == "ErrImagePull") return which + "waiting to start: image can't be pulled";
    if (waiting->reason == "ImagePullBackOff")
      return which + "waiting to start: trying and failing to pull image";
    return which + "waiting to start: " + waiting->reason;
  }
  return which + "not available";
}

void PodWorker::Update(PodPtr pod) {
  const PodPtr before = std::exchange(pod_, std::move(pod));
  AdoptUnits();
  if (pod_->metadata.deletion_timestamp) {
    const auto grace = std::chrono::seconds(pod_->metadata.deletion_grace_period_seconds.value_or(30));
    if (state_ == State::kStopped) return;
    if (state_ != State::kTerminating || grace < grace_) BeginTermination(grace);
    return;
  }
  const bool news = AddEphemeral();
  if (std::exchange(begun_, true)) {
    const bool changed = !written_ || written_->observed_generation != pod_->metadata.generation;
    if (changed || news)
      ApplySpec();
    else if (!pod_->spec.readiness_gates.empty())
      WriteStatus();
    // Files of the downward API say so at once; other changes come with the next round.
    const bool said_otherwise = before->metadata.labels != pod_->metadata.labels ||
                                before->metadata.annotations != pod_->metadata.annotations;
    if (said_otherwise && refresh_ != kNoTimer) {
      context_.strand.Cancel(std::exchange(refresh_, kNoTimer));
      RefreshVolumesNow();
    }
    return;
  }
  if (state_ != State::kRunning) return;
  // One that an agent before this one has taken stays.
  if (context_.reject && !pod_->status.start_time)
    if (const auto rejection = context_.reject(*pod_)) {
      context_.recorder.Warning(flyball::TargetOf(*pod_), rejection->reason, rejection->message);
      return Fail(rejection->reason, "Pod was rejected: " + rejection->message);
    }
  ArmDeadline();
  Sync();
}

void PodWorker::ApplySpec() {
  if (state_ != State::kRunning) return WriteStatus();
  ArmDeadline();
  for (const auto& unit : units_)
    if (unit->running() && !unit->ephemeral && !ReplaceUnit(*unit)) ResizeUnit(*unit);
  Sync();
}

// A container with another image is restarted at once, whatever the restart policy.
bool PodWorker::ReplaceUnit(ContainerUnit& unit) {
  if (unit.image.empty() || unit.image == SpecOf(unit).image) return false;
  unit.image.clear();
  unit.resized = true;
  const std::chrono::seconds grace(pod_->spec.termination_grace_period_seconds.value_or(30));
  StopUnit(unit, grace, "Container " + unit.name + " definition changed, will be restarted");
  return true;
}

// Resources change in place, unless the container asks to be restarted for it.
void PodWorker::ResizeUnit(ContainerUnit& unit) {
  const Container& spec = SpecOf(unit);
  if (spec.resources == unit.resources) return;
  const auto differs = [&](const std::string& name) {
    const auto amount = [&](const std::map<std::string, api::Quantity>& list) {
      const auto found = list.find(name);
      return found == list.end() ? std::string() : found->second.ToString();
    };
    return amount(spec.resources.requests) != amount(unit.resources.requests) ||
           amount(spec.resources.limits) != amount(unit.resources.limits);
  };
  bool restart = false;
  for (const ContainerResizePolicy& policy : spec.resize_policy)
    restart = restart || (policy.restart_policy == "RestartContainer" && differs(policy.resource_name));
  if (!restart) return PutInForce(unit);
  unit.resources = spec.resources;
  const auto grace = pod_->spec.termination_grace_period_seconds.value_or(30);
  unit.resized = true;
  StopUnit(unit, std::chrono::seconds(grace), "Container " + unit.name + " resize requires restart");
}

// What it has is said once the runtime has done it.
void PodWorker::PutInForce(ContainerUnit& unit) {
  OnRuntime(
      [id = unit.runtime_id, pod = pod_, spec = SpecOf(unit)](ContainerRuntime& runtime) {
        return runtime.Resize(id, *pod, spec);
      },
      [&unit, id = unit.runtime_id, wanted = SpecOf(unit).resources](PodWorker& self, const Status& done) {
        if (unit.runtime_id != id || !unit.running()) return;
        self.resize_error_ = done ? "" : done.error().message();
        if (done) unit.resources = wanted;
        self.WriteStatus();
      });
}

// Upstream: activeDeadlineHandler.
void PodWorker::ArmDeadline() {
  if (deadline_ != kNoTimer) context_.strand.Cancel(std::exchange(deadline_, kNoTimer));
  const auto& seconds = pod_->spec.active_deadline_seconds;
  if (!seconds) return;
  const Duration left =
      start_time_.ToTimePoint() + std::chrono::seconds(*seconds) - context_.strand.clock().Now();
  deadline_ = context_.strand.PostAfter(
      std::max(left, Duration::zero()), OnStrand([](PodWorker& self) {
        self.deadline_ = kNoTimer;
        if (self.state_ != State::kRunning) return;
        const std::string message = "Pod was active on the node longer than the specified deadline";
        self.context_.recorder.Normal(flyball::TargetOf(*self.pod_), "DeadlineExceeded", message);
        self.Fail("DeadlineExceeded", message);
      }));
}

void PodWorker::SetMirror(std::string uid) {
  if (uid == mirror_uid_) return;
  mirror_uid_ = std::move(uid);
  written_.reset();  // a new one knows nothing
  WriteStatus();
}

void PodWorker::Gone() {
  object_gone_ = true;
  if (state_ != State::kStopped) return BeginTermination(Duration::zero());
  if (volumes_gone_) context_.finished(pod_->metadata.uid);
}

void PodWorker::Sync() {
  if (state_ == State::kRunning) {
    // Before anything is said about a pod that may be refused for them.
    if (!HaveDevices()) return;
    if (!HaveNetwork()) return WriteStatus();
    StartDue();
    if (AllEnded()) {
      state_ = State::kEnded;
      // Sidecars end with the containers they serve, and so does what was there to look at them.
      for (const auto& unit : units_)
        if (unit->sidecar || unit->ephemeral)
          StopUnit(*unit, std::chrono::seconds(30), "Stopping container " + unit->name);
    }
  }
  if (state_ == State::kEnded) {
    DropNetwork();
    ReleaseEnded();
    ReleaseDevices();
  }
  WriteStatus();
}

bool PodWorker::InitDone() const {
  return std::all_of(units_.begin(), units_.end(),
                     [](const auto& unit) { return !unit->init || unit->init_done(); });
}

// Ephemeral containers whatever the others do; init containers one after the other, then all others at once.
void PodWorker::StartDue() {
  for (const auto& unit : units_)
    if (unit->ephemeral && unit->state == ContainerUnit::State::kWaiting) StartUnit(*unit);
  for (const auto& unit : units_) {
    if (unit->ephemeral) continue;
    if (unit->state == ContainerUnit::State::kWaiting) StartUnit(*unit);
    if (unit->init && !unit->init_done()) return;
  }
}

bool PodWorker::AllEnded() const {
  bool mains_ended = true;
  for (const auto& unit : units_) {
    const bool ended = unit->state == ContainerUnit::State::kExited;
    // One failed init container ends a pod that is not restarted.
    if (unit->init && !unit->sidecar && ended && !unit->exited_well()) return true;
    if (unit->main() && !ended) mains_ended = false;
  }
  return mains_ended;
}

void PodWorker::Retry(ContainerUnit& unit, Duration delay) {
  unit.timer = context_.strand.PostAfter(delay, OnStrand([&unit](PodWorker& self) {
                                           unit.timer = kNoTimer;
                                           if (self.state_ != State::kRunning) return;
                                           unit.state = ContainerUnit::State::kWaiting;
                                           self.Sync();
                                         }));
}

void PodWorker::BeginProbes(ContainerUnit& unit) {
  const Container& spec = SpecOf(unit);
  if (!spec.startup_probe && !spec.readiness_probe && !spec.liveness_probe) {
    unit.started = unit.ready = true;
    return;
  }
  const auto weak = weak_from_this();
  ProbeEvents events;
  events.started = [weak, &unit] {
    const auto self = weak.lock();
    if (!self || std::exchange(unit.started, true)) return;
    self->Sync();
  };
  events.ready = [weak, &unit](bool ready) {
    const auto self = weak.lock();
    if (!self || unit.ready == ready) return;
    unit.ready = ready;
    self->Sync();
  };
  events.unhealthy = [weak, &unit](ProbeKind kind, const std::string& message) {
    if (const auto self = weak.lock())
      self->context_.recorder.Warning(self->TargetOf(unit), "Unhealthy",
                                      std::string(ProbeName(kind)) + " probe failed: " + message);
  };
  events.failed = [weak, &unit](ProbeKind kind) {
    if (const auto self = weak.lock()) self->ProbeFailed(unit, kind);
  };
  unit.prober = std::make_shared<ContainerProber>(
      ContainerProber::Parts{keep_, context_.strand, context_.blocking, context_.runtime}, pod_, spec,
      unit.runtime_id, pod_ip(), std::move(events));
  unit.prober->Start();
}

void PodWorker::ProbeFailed(ContainerUnit& unit, ProbeKind kind) {
  std::string which(ProbeName(kind));
  which[0] = static_cast<char>(which[0] - 'A' + 'a');
  const Container& spec = SpecOf(unit);
  const auto& probe = kind == ProbeKind::kStartup ? spec.startup_probe : spec.liveness_probe;
  auto grace = pod_->spec.termination_grace_period_seconds.value_or(30);
  if (probe && probe->termination_grace_period_seconds) grace = *probe->termination_grace_period_seconds;
  StopUnit(unit, std::chrono::seconds(grace),
           "Container " + unit.name + " failed " + which + " probe, will be restarted");
}

void PodWorker::Exited(ContainerUnit& unit, const std::string&, const ContainerExit& exit) {
  if (unit.prober) unit.prober->Stop();
  unit.prober.reset();
  if (unit.kill_timer != kNoTimer) context_.strand.Cancel(std::exchange(unit.kill_timer, kNoTimer));
  const api::Time now = Now();
  std::string reason = exit.reason;
  if (reason.empty()) reason = exit.exit_code == 0 ? "Completed" : "Error";
  unit.ended = ContainerStateTerminated{.exit_code = exit.exit_code,
                                        .signal = exit.signal,
                                        .reason = reason,
                                        .message = exit.message,
                                        .started_at = unit.started_at,
                                        .finished_at = now,
                                        .container_id = unit.id};
  // One that never ran was "started" at the beginning of time.
  const bool ran = unit.started_at && unit.started_at->ToTimePoint() != TimePoint{};
  if (ran && now.ToTimePoint() - unit.started_at->ToTimePoint() >= kBackoffReset) unit.crashes = 0;
  unit.started = unit.ready = false;
  unit.state = ContainerUnit::State::kExited;
  if (state_ == State::kRunning && ShouldRestart(unit)) ScheduleRestart(unit);
  Sync();
  if (state_ == State::kTerminating) CheckStopped();
  if (evicted_) ReleaseVolumes();
}

// Upstream: ContainerShouldRestart. A container's own rules come first, then its own policy, then the pod's.
bool PodWorker::ShouldRestart(const ContainerUnit& unit) const {
  if (unit.ephemeral) return false;
  if (unit.sidecar || unit.resized) return true;
  const Container& spec = SpecOf(unit);
  if (unit.ended && HasRestartRule(spec, unit.ended->exit_code)) return true;
  const std::string& policy = spec.restart_policy ? *spec.restart_policy : pod_->spec.restart_policy;
  const bool well = unit.ended && unit.ended->exit_code == 0;
  if (unit.init) return !well && policy != "Never";
  return policy == "Always" || policy.empty() || (policy == "OnFailure" && !well);
}

// The first restart is at once; from then on each waits twice as long as the one before.
void PodWorker::ScheduleRestart(ContainerUnit& unit) {
  if (std::exchange(unit.resized, false) || ++unit.crashes == 1) {
    unit.state = ContainerUnit::State::kWaiting;
    return;
  }
  const Duration backoff = BackoffAfter(unit.crashes - 1);
  unit.state = ContainerUnit::State::kBackoff;
  unit.waiting_reason = "CrashLoopBackOff";
  unit.waiting_message = "back-off " + Seconds(backoff) + " restarting failed container=" + unit.name +
                         " pod=" + FullName(*pod_);
  context_.recorder.Warning(
      TargetOf(unit), "BackOff",
      "Back-off restarting failed container " + unit.name + " in pod " + FullName(*pod_));
  Retry(unit, backoff);
}

}  // namespace flyball::node
