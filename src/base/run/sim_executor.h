// SimExecutor: one thread and virtual time. Nothing runs until the test says so. When nothing else is ready,
// time jumps to the next timer, so hours pass in milliseconds. A seed determines the order of ready closures,
// so a failure replays from its seed.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/run/executor.h"
#include "base/run/random.h"

namespace flyball {

// Confined to the thread that runs it.
class SimExecutor final : public Executor {
 public:
  enum class Order { kFifo, kShuffled };
  explicit SimExecutor(std::uint64_t seed, Order order = Order::kShuffled);
  ~SimExecutor() override;  // drops closures that have not run

  void Post(Closure fn) override;
  TimerId PostAt(SteadyTime when, Closure fn) override;
  bool Cancel(TimerId id) override;
  const Clock& clock() const override { return clock_; }
  Random& random() { return random_; }

  // Runs one ready closure, or jumps to the next timer and runs it. Returns false if there is neither.
  bool Step();
  // Runs everything that is ready now; no time passes.
  void RunReady();
  // Runs everything due in the next `d` of virtual time. The clock ends exactly `d` later.
  void RunFor(Duration d);
  // Steps until done() holds. Returns false if before that nothing is left to run or `limit` of virtual time
  // has passed.
  bool RunUntil(const std::function<bool()>& done, Duration limit = std::chrono::hours(1));

 private:
  class VirtualClock final : public Clock {
   public:
    TimePoint Now() const override { return TimePoint(now.time_since_epoch()) + epoch; }
    SteadyTime Steady() const override { return now; }
    SteadyTime now{};
    // Virtual time starts in 2024, far from 0, so that a zero time is never mistaken for now.
    Duration epoch = std::chrono::seconds(1704067200);
  };

  bool RunOneReady();

  VirtualClock clock_;
  Random random_;
  const Order order_;
  std::vector<Closure> ready_;
  std::map<std::pair<SteadyTime, TimerId>, Closure> timers_;
  std::map<TimerId, SteadyTime> when_;
  TimerId next_id_ = 1;
  bool ended_ = false;
};

}  // namespace flyball
