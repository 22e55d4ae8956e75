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
