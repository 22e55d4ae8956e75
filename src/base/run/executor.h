// Executor: where work runs and how it waits. All timers and all threads of the program come from here or
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

using TimerId = std::uint64_t;  // 0 is never a timer
inline constexpr TimerId kNoTimer = 0;

// Thread-safe. A closure must not throw.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs fn soon, not before Post returns to the caller's caller (never inline).
  virtual void Post(Closure fn) = 0;
  // Runs fn once at or after `when`.
  virtual TimerId PostAt(SteadyTime when, Closure fn) = 0;
  TimerId PostAfter(Duration delay, Closure fn) { return PostAt(clock().Steady() + delay, std::move(fn)); }
  // True if the timer was found and will never run; false if it ran, is running or was cancelled before.
  virtual bool Cancel(TimerId id) = 0;

  virtual const Clock& clock() const = 0;

  // One of its threads is stuck in a closure: until RemoveSpare another one works in its place. Executors
  // without threads of their own ignore it.
  virtual void AddSpare() {}
  virtual void RemoveSpare() {}
};

// A fixed number of threads (and spares) sharing one queue and one timer heap.
// Destruction stops: closures not begun are dropped, running ones are waited for.
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

  // Drops what is queued, waits for what runs. Idempotent. Not to be called from one of its own closures.
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
  int surplus_ FLYBALL_GUARDED_BY(mu_) = 0;  // as many workers are to end
  std::list<Worker> workers_ FLYBALL_GUARDED_BY(mu_);

  TimerThread timers_;
};

// Runs closures one at a time, in order, on an underlying executor: a lock that never blocks a thread.
// The Strand may go while closures or timers are pending: they still run, unless the executor drops them.
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
