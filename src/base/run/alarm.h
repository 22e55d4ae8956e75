// Alarm: a timer that its owner can stop for certain.
#pragma once

#include <memory>

#include "base/run/executor.h"

namespace flyball {

// One timer that is set, rings, and is set again; its callback never runs after Close has returned, which
// Executor::Cancel alone cannot promise (the callback may be running just then).
// Thread-safe. Close must not be called from within the callback.
class Alarm {
 public:
  // `ring` runs on `executor`, which must outlive this.
  Alarm(Executor& executor, Closure ring);
  ~Alarm() { Close(); }

  // Rings once at or after `when`. If it is already set for an earlier time, that stays.
  void Set(SteadyTime when);
  void Close();

 private:
  struct State;
  Executor& executor_;
  const std::shared_ptr<State> state_;
};

}  // namespace flyball
