// WorkerSupervisor: detects workers of one controller that throw, get stuck or fall behind. It reports them
// (log, metrics, health) and restarts them with back-off, while all other controllers continue.
//
// Throws: after kThrowsBeforeRestart reconciles in a row that ended in an exception, the controller pauses.
// It restarts after 1 s, doubled each time up to a minute, until a reconcile returns.
// Stuck: when a reconcile has run for stuck_after, its client calls are cancelled. If it still does not
// return, another worker (and thread) takes its place after the same back-off, and is removed if the stuck
// one returns.
// Behind: reported while the oldest key has waited longer than behind_after.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/runtime.h"

namespace flyball {

struct SupervisionOptions {
  std::string controller{};
  Duration stuck_after{}, behind_after{};
};

// Thread-safe. Must be owned by a shared_ptr. Timers run only while there is something to supervise.
class WorkerSupervisor : public std::enable_shared_from_this<WorkerSupervisor> {
 public:
  static constexpr int kThrowsBeforeRestart = 3;
  static constexpr Duration kFirstBackoff = std::chrono::seconds(1);
  static constexpr Duration kMaxBackoff = std::chrono::minutes(1);
  // The most stuck workers replaced at a time, so that a reconciler that always blocks cannot use up all
  // memory.
  static constexpr int kMaxSpares = 16;

  // `oldest_wait` returns how long the first key in the queue has waited. `resume` is called, outside any
  // lock, when more workers may run than before.
  WorkerSupervisor(const Runtime& runtime, SupervisionOptions options, std::function<Duration()> oldest_wait,
                   std::function<void()> resume);
  ~WorkerSupervisor();

  // Call around every reconcile. `what` names the key; `cancel` makes its client calls fail.
  using RunId = std::uint64_t;
  RunId Began(std::string what, std::stop_source cancel);
  void Returned(RunId run) { Ended(run, false); }
  void Threw(RunId run) { Ended(run, true); }

  // True while no worker may start.
  bool paused() const;
  // The number of workers that replace stuck ones.
  int spares() const;
  // Returns what is wrong, or ok.
  Status Health() const;

 private:
  struct Run {
    std::string what;
    SteadyTime began;
    std::stop_source cancel;
    bool stuck = false, replaced = false;
  };
  struct Numbers;

  void Ended(RunId id, bool threw);
  void CountThrow() FLYBALL_REQUIRES(mu_);
  void Unpause();
  void ArmTick() FLYBALL_REQUIRES(mu_);
  void Tick();
  void MarkStuck(RunId id, Run& run) FLYBALL_REQUIRES(mu_);
  void Replace(RunId id);
  void NoteBehind(Duration waited) FLYBALL_REQUIRES(mu_);
  Duration NextBackoff() FLYBALL_REQUIRES(mu_);
  SteadyTime Now() const { return runtime_.clock().Steady(); }

  const Runtime runtime_;
  const SupervisionOptions options_;
  const std::function<Duration()> oldest_wait_;
  const std::function<void()> resume_;
  const std::unique_ptr<Numbers> numbers_;

  mutable Mutex mu_;
  std::map<RunId, Run> runs_ FLYBALL_GUARDED_BY(mu_);
  RunId next_run_ FLYBALL_GUARDED_BY(mu_) = 1;
  int throws_in_a_row_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool paused_ FLYBALL_GUARDED_BY(mu_) = false;
  bool behind_ FLYBALL_GUARDED_BY(mu_) = false;
  bool ticking_ FLYBALL_GUARDED_BY(mu_) = false;
  int spares_ FLYBALL_GUARDED_BY(mu_) = 0;
  Duration backoff_ FLYBALL_GUARDED_BY(mu_) = kFirstBackoff;
};

}  // namespace flyball
