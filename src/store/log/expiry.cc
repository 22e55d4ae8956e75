#include "store/log/expiry.h"

#include <algorithm>
#include <utility>

namespace flyball::store {
namespace {

// A deletion that failed (disk full) is tried again after this.
constexpr std::chrono::milliseconds kRetryDelay = std::chrono::seconds(10);

std::int64_t UnixMs(TimePoint t) {
  return std::chrono::floor<std::chrono::milliseconds>(t).time_since_epoch().count();
}

}  // namespace

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

Expiry::Expiry(Executor& executor, Store& store)
    : executor_(executor), store_(store), alarm_(executor, [this] { Ring(); }) {}

void Expiry::Add(std::string key, Revision revision, std::int64_t unix_ms) {
  {
    MutexLock lock(mu_);
    deadlines_.push({unix_ms, revision, std::move(key)});
  }
  Arm(unix_ms);
}

void Expiry::Arm(std::int64_t unix_ms) {
  const auto now = executor_.clock().Now();
  const Duration delay = TimePoint(std::chrono::milliseconds(unix_ms)) - now;
  alarm_.Set(executor_.clock().Steady() + std::max(delay, Duration::zero()));
}

void Expiry::Ring() {
  const std::int64_t now = UnixMs(executor_.clock().Now());
  std::vector<Deadline> due;
  std::int64_t next = 0;
  {
    MutexLock lock(mu_);
    while (!deadlines_.empty() && deadlines_.top().unix_ms <= now) {
      due.push_back(deadlines_.top());
      deadlines_.pop();
    }
    if (!deadlines_.empty()) next = deadlines_.top().unix_ms;
  }
  for (Deadline& deadline : due) Delete(std::move(deadline));
  if (next != 0) Arm(next);
}

void Expiry::Delete(Deadline deadline) {
  Transaction transaction(1);
  transaction[0].key = deadline.key;
  transaction[0].precondition = Precondition::ModRevision(deadline.revision);
  store_.Commit(std::move(transaction),
                [this, deadline = std::move(deadline)](Result<CommitOutcome> outcome) {
                  // A conflict is as it should be: the key was written again or is gone.
                  if (outcome) return;
                  Add(deadline.key, deadline.revision, UnixMs(executor_.clock().Now()) + kRetryDelay.count());
                });
}

}  // namespace flyball::store
