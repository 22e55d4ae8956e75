// Executor: where work runs and how it waits. All timers and threads of the program come from here or from
// thread.h, so that a whole control plane can run in one thread on virtual time (sim_executor.h).
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "base/run/thread.h"
#include "base/values/unique_function.h"

namespace flyball {

using TimerId = std::uint64_t;  // 0 is never a valid id
inline constexpr TimerId kNoTimer = 0;

// Thread-safe. A closure must not throw.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs fn soon, never inline: not before Post has returned.
  virtual void Post(Closure fn) = 0;
  // Runs fn once at or after `when`.
  virtual TimerId PostAt(SteadyTime when, Closure fn) = 0;
  TimerId PostAfter(Duration delay, Closure fn) { return PostAt(clock().Steady() + delay, std::move(fn)); }
  // Returns true if the timer was found and will never run; false if it already ran, is running, or was
  // cancelled before.
  virtual bool Cancel(TimerId id) = 0;

  virtual const Clock& clock() const = 0;

  // Call AddSpare when one of the executor's threads is stuck in a closure: until RemoveSpare, another thread
  // works in its place. Executors without their own threads ignore it.
  virtual void AddSpare() {}
  virtual void RemoveSpare() {}
};

// A fixed number of threads (plus spares) that share one queue and one timer heap. Destruction stops the
// pool: closures that have not started are dropped, running ones are waited for.
class ThreadPool final : public Executor {
 public:
  // kBackground: its threads give way to others where processors are short.
  enum class Priority { kNormal, kBackground };
  ThreadPool(std::string name, int threads, const Clock& clock = RealClock(),
             Priority priority = Priority::kNormal);
  ~ThreadPool() override;

  void Post(Closure fn) override;
  TimerId PostAt(SteadyTime when, Closure fn) override;
  bool Cancel(TimerId id) override;
  const Clock& clock() const override { return clock_; }
  void AddSpare() override;
  void RemoveSpare() override;

  // Drops queued closures and waits for running ones. Idempotent. Must not be called from one of its own
  // closures.
  void Stop();

 private:
  struct Worker {
    bool ended = false;
    Thread thread;
  };
  void StartWorker() FLYBALL_REQUIRES(mu_);
  void RunWorker(Worker* self);

  const std::string name_;
  const Clock& clock_;
  const Priority priority_;
  Mutex mu_;
  CondVar work_ready_;
  std::deque<Closure> queue_ FLYBALL_GUARDED_BY(mu_);
  bool stopping_ FLYBALL_GUARDED_BY(mu_) = false;
  int started_ FLYBALL_GUARDED_BY(mu_) = 0;
  int surplus_ FLYBALL_GUARDED_BY(mu_) = 0;  // this many workers are to exit
  std::list<Worker> workers_ FLYBALL_GUARDED_BY(mu_);

  TimerThread timers_;
};

// Runs closures one at a time and in order on an underlying executor: a lock that never blocks a thread. The
// Strand may be destroyed while closures or timers are pending; they still run, unless the executor drops
// them.
class Strand final : public Executor {
 public:
  explicit Strand(Executor& executor);

  void Post(Closure fn) override;
  TimerId PostAt(SteadyTime when, Closure fn) override;
  bool Cancel(TimerId id) override;
  const Clock& clock() const override { return executor_.clock(); }

 private:
  struct State;
  Executor& executor_;
  std::shared_ptr<State> state_;
};

}  // namespace flyball
