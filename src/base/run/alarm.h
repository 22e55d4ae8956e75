// Alarm: a timer that its owner can stop reliably.
#pragma once

#include <memory>

#include "base/run/executor.h"

namespace flyball {

// A timer that can be set again and again. Its callback never runs after Close has returned. Executor::Cancel
// alone cannot guarantee that, because the callback may be running at that moment. Thread-safe. Do not call
// Close from within the callback.
class Alarm {
 public:
  // `ring` runs on `executor`, which must outlive this.
  Alarm(Executor& executor, Closure ring);
  ~Alarm() { Close(); }

  // Rings once at or after `when`. If it is already set for an earlier time, that time stays.
  void Set(SteadyTime when);
  void Close();

 private:
  struct State;
  Executor& executor_;
  const std::shared_ptr<State> state_;
};

}  // namespace flyball
