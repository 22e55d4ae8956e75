#include "base/run/alarm.h"

#include <utility>

#include "base/run/mutex.h"

namespace flyball {

struct Alarm::State {
  explicit State(Closure fn) : ring(std::move(fn)) {}

  // Runs the callback if the alarm is still set under this number.
  void Ring(std::uint64_t number) {
    {
      MutexLock lock(mu);
      if (closed || number != setting) return;
      timer = kNoTimer;
      ++ringing;
    }
    ring();
    MutexLock lock(mu);
    --ringing;
    idle.NotifyAll();
  }

  const Closure ring;
  Mutex mu;
  CondVar idle;
  TimerId timer FLYBALL_GUARDED_BY(mu) = kNoTimer;
  SteadyTime when FLYBALL_GUARDED_BY(mu){};
  std::uint64_t setting FLYBALL_GUARDED_BY(mu) = 0;
  int ringing FLYBALL_GUARDED_BY(mu) = 0;
  bool closed FLYBALL_GUARDED_BY(mu) = false;
};

Alarm::Alarm(Executor& executor, Closure ring)
    : executor_(executor), state_(std::make_shared<State>(std::move(ring))) {}

void Alarm::Set(SteadyTime when) {
  MutexLock lock(state_->mu);
  if (state_->closed || (state_->timer != kNoTimer && state_->when <= when)) return;
  if (state_->timer != kNoTimer) executor_.Cancel(state_->timer);
  state_->when = when;
  const std::uint64_t number = ++state_->setting;
  state_->timer = executor_.PostAt(when, [state = state_, number] { state->Ring(number); });
}

void Alarm::Close() {
  MutexLock lock(state_->mu);
  state_->closed = true;
  if (state_->timer != kNoTimer) executor_.Cancel(state_->timer);
  state_->timer = kNoTimer;
  while (state_->ringing > 0) state_->idle.Wait(state_->mu);
}

}  // namespace flyball
