#include "controller/worker/worker_supervisor.h"

#include <algorithm>
#include <utility>

#include "base/observe/log.h"

namespace flyball {
namespace {

// How often a run is checked before it counts as stuck.
constexpr int kTicksBeforeStuck = 4;

std::string InSeconds(Duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}

}  // namespace

struct WorkerSupervisor::Numbers {
  Numbers(Metrics& metrics, const std::string& controller)
      : restarts(metrics.GetCounter("flyball_controller_restarts_total",
                                    "Total number of times workers were started again or replaced",
                                    {{"controller", controller}})),
        stuck(metrics.GetGauge("flyball_controller_stuck_workers",
                               "Number of reconciles running for longer than the controller allows",
                               {{"controller", controller}})),
        paused(metrics.GetGauge("flyball_controller_paused",
                                "1 while a controller whose reconciles threw waits to start again",
                                {{"controller", controller}})),
        behind(metrics.GetGauge(
            "flyball_controller_behind",
            "1 while the oldest waiting key has waited for longer than the controller allows",
            {{"controller", controller}})) {}
  Counter& restarts;
  Gauge &stuck, &paused, &behind;
};

WorkerSupervisor::WorkerSupervisor(const Runtime& runtime, SupervisionOptions options,
                                   std::function<Duration()> oldest_wait, std::function<void()> resume)
    : runtime_(runtime),
      options_(std::move(options)),
      oldest_wait_(std::move(oldest_wait)),
      resume_(std::move(resume)),
      numbers_(std::make_unique<Numbers>(runtime.metrics, options_.controller)) {}

WorkerSupervisor::~WorkerSupervisor() = default;

WorkerSupervisor::RunId WorkerSupervisor::Began(std::string what, std::stop_source cancel) {
  MutexLock lock(mu_);
  const RunId id = next_run_++;
  runs_.emplace(id, Run{std::move(what), Now(), std::move(cancel)});
  ArmTick();
  return id;
}

void WorkerSupervisor::Ended(RunId id, bool threw) {
  bool give_back;
  {
    MutexLock lock(mu_);
    const auto it = runs_.find(id);
    give_back = it->second.replaced;
    if (it->second.stuck) numbers_->stuck.Add(-1);
    if (give_back) --spares_;
    const bool was_stuck = it->second.stuck;
    runs_.erase(it);
    if (threw) {
      CountThrow();
    } else {
      throws_in_a_row_ = 0;
      if (!was_stuck && !paused_) backoff_ = kFirstBackoff;
    }
  }
  if (give_back) runtime_.worker_executor().RemoveSpare();
}

void WorkerSupervisor::CountThrow() {
  if (++throws_in_a_row_ < kThrowsBeforeRestart || paused_) return;
  const Duration wait = NextBackoff();
  paused_ = true;
  numbers_->paused.Set(1);
  log::Error("controller keeps throwing, will be started again",
             {{"controller", options_.controller}, {"after", InSeconds(wait)}});
  runtime_.executor.PostAfter(wait, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Unpause();
  });
}

void WorkerSupervisor::Unpause() {
  {
    MutexLock lock(mu_);
    paused_ = false;
    throws_in_a_row_ = kThrowsBeforeRestart - 1;  // one more failure and it waits again, longer
  }
  numbers_->paused.Set(0);
  numbers_->restarts.Add();
  log::Info("controller started again", {{"controller", options_.controller}});
  resume_();
}

Duration WorkerSupervisor::NextBackoff() {
  const Duration wait = backoff_;
  backoff_ = std::min(backoff_ * 2, kMaxBackoff);
  return wait;
}

void WorkerSupervisor::ArmTick() {
  if (std::exchange(ticking_, true)) return;
  const Duration period = std::min(options_.stuck_after, options_.behind_after) / kTicksBeforeStuck;
  runtime_.executor.PostAfter(period, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Tick();
  });
}

void WorkerSupervisor::Tick() {
  const Duration waited = oldest_wait_();
  std::vector<std::stop_source> cancelled;
  {
    MutexLock lock(mu_);
    ticking_ = false;
    for (auto& [id, run] : runs_) {
      if (run.stuck || Now() - run.began < options_.stuck_after) continue;
      MarkStuck(id, run);
      cancelled.push_back(run.cancel);
    }
    NoteBehind(waited);
    if (!runs_.empty() || waited > Duration::zero()) ArmTick();
  }
  for (std::stop_source& source : cancelled) source.request_stop();
}

void WorkerSupervisor::MarkStuck(RunId id, Run& run) {
  run.stuck = true;
  numbers_->stuck.Add(1);
  const Duration wait = NextBackoff();
  log::Error("reconcile is stuck, another worker takes its place",
             {{"controller", options_.controller}, {"key", run.what}, {"after", InSeconds(wait)}});
  runtime_.executor.PostAfter(wait, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->Replace(id);
  });
}

void WorkerSupervisor::Replace(RunId id) {
  {
    MutexLock lock(mu_);
    const auto it = runs_.find(id);
    if (it == runs_.end() || spares_ == kMaxSpares) return;
    it->second.replaced = true;
    ++spares_;
  }
  runtime_.worker_executor().AddSpare();
  numbers_->restarts.Add();
  resume_();
}

void WorkerSupervisor::NoteBehind(Duration waited) {
  const bool behind = waited >= options_.behind_after;
  if (behind == std::exchange(behind_, behind)) return;
  numbers_->behind.Set(behind ? 1 : 0);
  if (behind)
    log::Warning("controller falls behind",
                 {{"controller", options_.controller}, {"oldest key waits", InSeconds(waited)}});
  else
    log::Info("controller has caught up", {{"controller", options_.controller}});
}

bool WorkerSupervisor::paused() const {
  MutexLock lock(mu_);
  return paused_;
}

int WorkerSupervisor::spares() const {
  MutexLock lock(mu_);
  return spares_;
}

Status WorkerSupervisor::Health() const {
  const Duration waited = oldest_wait_();
  MutexLock lock(mu_);
  if (paused_) return Unexpected(InternalError("its reconciles threw; it waits to start again"));
  for (const auto& [id, run] : runs_)
    if (run.stuck)
      return Unexpected(
          InternalError("the reconcile of " + run.what + " is stuck since " + InSeconds(Now() - run.began)));
  if (waited >= options_.behind_after)
    return Unexpected(InternalError("it falls behind: the oldest key has waited for " + InSeconds(waited)));
  return {};
}

}  // namespace flyball
