#include "node/pod/prober.h"

#include <algorithm>

namespace flyball::node {

std::string_view ProbeName(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup:
      return "Startup";
    case ProbeKind::kReadiness:
      return "Readiness";
    case ProbeKind::kLiveness:
      return "Liveness";
  }
  return {};
}

ContainerProber::ContainerProber(Parts parts, std::shared_ptr<const Pod> pod, const Container& container,
                                 std::string container_id, std::string pod_ip, ProbeEvents events)
    : parts_(std::move(parts)),
      pod_(std::move(pod)),
      container_(container),
      id_(std::move(container_id)),
      pod_ip_(std::move(pod_ip)),
      events_(std::move(events)) {}

void ContainerProber::Start() {
  if (container_.startup_probe)
    Begin(ProbeKind::kStartup, *container_.startup_probe);
  else
    StartOthers();
}

void ContainerProber::Stop() {
  stopped_ = true;
  for (const auto& run : runs_)
    if (run->timer != kNoTimer) parts_.strand.Cancel(run->timer);
}

void ContainerProber::StartOthers() {
  events_.started();
  if (container_.liveness_probe) Begin(ProbeKind::kLiveness, *container_.liveness_probe);
  if (container_.readiness_probe)
    Begin(ProbeKind::kReadiness, *container_.readiness_probe);
  else
    events_.ready(true);
}

void ContainerProber::Begin(ProbeKind kind, const Probe& probe) {
  runs_.push_back(std::make_unique<Run>(Run{.kind = kind, .probe = &probe}));
  const Duration delay = std::chrono::seconds(parts_.runtime.real() ? probe.initial_delay_seconds : 0);
  Arm(*runs_.back(), delay);
}

void ContainerProber::Arm(Run& run, Duration delay) {
  run.timer = parts_.strand.PostAfter(delay, [weak = weak_from_this(), &run] {
    const auto self = weak.lock();
    if (!self || self->stopped_) return;
    run.timer = kNoTimer;
    self->Ask(run);
  });
}

void ContainerProber::Ask(Run& run) {
  // Nothing runs that could be asked: all is well, and stays so.
  if (!parts_.runtime.real()) return Succeeded(run);
  auto answered = [weak = weak_from_this(), parts = parts_, &run](const ProbeAnswer& answer) {
    parts.strand.Post([weak, &run, answer] {
      if (const auto self = weak.lock(); self && !self->stopped_) self->Answered(run, answer);
    });
  };
  const Probe& probe = *run.probe;
  if (!probe.exec)
    return AskOverNetwork(probe, container_, pod_ip_, parts_.blocking, parts_.strand, std::move(answered));
  const Duration timeout = std::chrono::seconds(std::max(1, probe.timeout_seconds));
  parts_.runtime.Exec(id_, probe.exec->command, timeout, [answered](const Result<ExecResult>& result) {
    if (!result) return answered({false, result.error().message()});
    if (result->timed_out) return answered({false, "command timed out"});
    answered({result->exit_code == 0, result->output});
  });
}

void ContainerProber::Answered(Run& run, const ProbeAnswer& answer) {
  if (answer.success)
    Succeeded(run);
  else
    Failed(run, answer.message);
  if (stopped_ || (run.kind == ProbeKind::kStartup && run.passed)) return;
  Arm(run, std::chrono::seconds(std::max(1, run.probe->period_seconds)));
}

void ContainerProber::Succeeded(Run& run) {
  run.failures = 0;
  if (++run.successes < std::max(1, run.probe->success_threshold) && parts_.runtime.real()) return;
  if (std::exchange(run.passed, true)) return;
  if (run.kind == ProbeKind::kStartup) StartOthers();
  if (run.kind == ProbeKind::kReadiness) events_.ready(true);
}

void ContainerProber::Failed(Run& run, const std::string& message) {
  run.successes = 0;
  events_.unhealthy(run.kind, message);
  if (++run.failures < std::max(1, run.probe->failure_threshold)) return;
  if (run.kind == ProbeKind::kReadiness) {
    if (std::exchange(run.passed, false)) events_.ready(false);
    return;
  }
  Stop();
  events_.failed(run.kind);
}

}  // namespace flyball::node
