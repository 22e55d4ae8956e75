// How a pod ends: hooks, signals, grace, and the last delete.
#include <algorithm>
#include <csignal>

#include "base/observe/log.h"
#include "node/pod/pod_worker.h"

namespace flyball::node {
namespace {

constexpr Duration kDeleteRetry = std::chrono::seconds(5);

}  // namespace

void PodWorker::Evict(const std::string& message, bool by_pressure) {
  constexpr Duration kEvictionGrace =
      std::chrono::seconds(1);  // upstream: immediateEvictionGracePeriodSeconds
  if (state_ != State::kRunning) return;
  context_.recorder.Warning(flyball::TargetOf(*pod_), "Evicted", message);
  evicted_ = true;
  disrupted_ = by_pressure;
  Fail("Evicted", message, kEvictionGrace);
  ReleaseVolumes();
}

void PodWorker::Fail(std::string reason, std::string message, std::optional<Duration> grace) {
  failure_reason_ = std::move(reason);
  failure_message_ = std::move(message);
  state_ = State::kEnded;
  for (const auto& unit : units_) {
    if (unit->timer != kNoTimer) context_.strand.Cancel(std::exchange(unit->timer, kNoTimer));
    const std::chrono::seconds own(pod_->spec.termination_grace_period_seconds.value_or(30));
    StopUnit(*unit, grace.value_or(own), "Stopping container " + unit->name);
  }
  WriteStatus();
}

void PodWorker::BeginTermination(Duration grace) {
  state_ = State::kTerminating;
  grace_ = grace;
  if (deadline_ != kNoTimer) context_.strand.Cancel(std::exchange(deadline_, kNoTimer));
  for (const auto& unit : units_)
    if (unit->timer != kNoTimer) context_.strand.Cancel(std::exchange(unit->timer, kNoTimer));
  StopRunning();
  CheckStopped();
}

// Sidecars serve the others to their end.
void PodWorker::StopRunning() {
  const bool mains_run = std::any_of(units_.begin(), units_.end(),
                                     [](const auto& unit) { return !unit->sidecar && unit->running(); });
  for (const auto& unit : units_)
    if (unit->running() && (!unit->sidecar || !mains_run))
      StopUnit(*unit, grace_, "Stopping container " + unit->name);
}

void PodWorker::StopUnit(ContainerUnit& unit, Duration grace, const std::string& message) {
  if (!unit.running()) return;
  if (unit.prober) unit.prober->Stop();
  if (grace <= Duration::zero()) return context_.runtime.Signal(unit.runtime_id, SIGKILL);
  if (unit.kill_timer != kNoTimer) context_.strand.Cancel(unit.kill_timer);
  unit.kill_timer = context_.strand.PostAfter(grace, OnStrand([&unit, id = unit.runtime_id](PodWorker& self) {
                                                unit.kill_timer = kNoTimer;
                                                self.context_.runtime.Signal(id, SIGKILL);
                                              }));
  if (std::exchange(unit.stopping, true)) return;
  context_.recorder.Normal(TargetOf(unit), "Killing", message);
  Terminate(unit, grace);
}

// The hook first; whatever becomes of it, the signal follows.
void PodWorker::Terminate(ContainerUnit& unit, Duration grace) {
  const auto& lifecycle = SpecOf(unit).lifecycle;
  const int stop_signal = context_.runtime.StopSignal(unit.runtime_id);
  if (!lifecycle || !lifecycle->pre_stop) return context_.runtime.Signal(unit.runtime_id, stop_signal);
  RunHook(unit, *lifecycle->pre_stop, grace,
          [id = unit.runtime_id, stop_signal, target = TargetOf(unit)](PodWorker& self, bool well) {
            if (!well) self.context_.recorder.Warning(target, "FailedPreStopHook", "PreStopHook failed");
            self.context_.runtime.Signal(id, stop_signal);
          });
}

void PodWorker::AfterStart(ContainerUnit& unit) {
  const auto& lifecycle = SpecOf(unit).lifecycle;
  if (!lifecycle || !lifecycle->post_start || !context_.runtime.real()) return;
  // As upstream, which sets no limit: as long as anything may take.
  constexpr Duration kNoLimit = std::chrono::hours(24);
  RunHook(unit, *lifecycle->post_start, kNoLimit, [&unit, id = unit.runtime_id](PodWorker& self, bool well) {
    if (well || unit.runtime_id != id || !unit.running()) return;
    // Not what the hook said: that may be a secret.
    self.context_.recorder.Warning(self.TargetOf(unit), "FailedPostStartHook", "PostStartHook failed");
    const auto grace = self.pod_->spec.termination_grace_period_seconds.value_or(30);
    self.StopUnit(unit, std::chrono::seconds(grace), "FailedPostStartHook");
  });
}

void PodWorker::RunHook(const ContainerUnit& unit, const LifecycleHandler& hook, Duration timeout,
                        std::function<void(PodWorker& self, bool well)> done) {
  const auto finish = [weak = weak_from_this(), context = keep_, done = std::move(done)](bool well) {
    context->strand.Post([weak, done, well] {
      if (const auto self = weak.lock()) done(*self, well);
    });
  };
  if (hook.exec) {
    context_.runtime.Exec(unit.runtime_id, hook.exec->command, timeout,
                          [finish](const Result<ExecResult>& result) {
                            finish(result && !result->timed_out && result->exit_code == 0);
                          });
  } else if (hook.sleep) {
    context_.strand.PostAfter(std::chrono::seconds(hook.sleep->seconds), [finish] { finish(true); });
  } else {
    // What is answered does not matter, as upstream.
    Probe probe{.http_get = hook.http_get, .tcp_socket = hook.tcp_socket, .timeout_seconds = 30};
    AskOverNetwork(probe, SpecOf(unit), pod_ip(), context_.blocking, context_.strand,
                   [finish](const ProbeAnswer& answer) { finish(answer.answered); });
  }
}

void PodWorker::CheckStopped() {
  if (state_ != State::kTerminating) return;
  const bool any =
      std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->running(); });
  if (any) return StopRunning();
  // One that is being started is stopped once it runs.
  if (std::any_of(units_.begin(), units_.end(), [](const auto& unit) { return unit->launching; })) return;
  if (attaching_ || allocating_devices_) return;
  state_ = State::kStopped;
  DropNetwork();
  ReleaseDevices();
  context_.runtime.RemovePod(pod_->metadata.namespace_, pod_->metadata.name, pod_->metadata.uid);
  TearDownVolumes();
}

void PodWorker::VolumesGone() {
  volumes_gone_ = true;
  if (object_gone_ || static_) return context_.finished(pod_->metadata.uid);
  WriteStatus();
  if (!writing_) DeleteObject();
}

// The object waits for this: without containers there is nothing left to be graceful about.
void PodWorker::DeleteObject() {
  context_.client.Of<Pod>().DeleteAsync(
      pod_->metadata.namespace_, pod_->metadata.name, {.grace_period_seconds = 0, .uid = pod_->metadata.uid},
      [weak = weak_from_this(), context = keep_](const Result<json::Value>& result) {
        if (result || result.error().Is(Reason::kNotFound) || result.error().Is(Reason::kConflict)) return;
        log::Warning("pod not deleted, will try again", {{"error", result.error().ToString()}});
        context->strand.PostAfter(kDeleteRetry, [weak] {
          if (const auto self = weak.lock(); self && !self->object_gone_) self->DeleteObject();
        });
      });
}

}  // namespace flyball::node
