#include "store/log/expiry.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

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
    batches_[unix_ms / kBatchMs].Add({unix_ms, revision, std::move(key)});
  }
  Arm(unix_ms);
}

void Expiry::Arm(std::int64_t unix_ms) {
  const auto now = executor_.clock().Now();
  const Duration delay = TimePoint(std::chrono::milliseconds(unix_ms)) - now;
  alarm_.Set(executor_.clock().Steady() + std::max(delay, Duration::zero()));
}

void Expiry::Batch::Add(const Deadline& deadline) {
  const auto [end, ignored] =
      std::mismatch(deadline.key.begin(), deadline.key.end(), last_key_.begin(), last_key_.end());
  const auto shared = static_cast<std::uint32_t>(end - deadline.key.begin());
  const Head head{deadline.unix_ms, deadline.revision, shared,
                  static_cast<std::uint32_t>(deadline.key.size()) - shared};
  packed_.append(reinterpret_cast<const char*>(&head), sizeof head).append(deadline.key, shared);
  last_key_ = deadline.key;
  earliest_ = std::min(earliest_, deadline.unix_ms);
}

std::vector<Expiry::Deadline> Expiry::Batch::TakeDue(std::int64_t now) {
  std::vector<Deadline> due;
  Batch left;
  Deadline one;
  for (std::size_t at = 0; at < packed_.size();) {
    Head head;
    std::memcpy(&head, packed_.data() + at, sizeof head);
    at += sizeof head;
    one.key.resize(head.shared);
    one.key.append(packed_, at, head.rest);
    at += head.rest;
    one.unix_ms = head.unix_ms;
    one.revision = head.revision;
    if (one.unix_ms <= now)
      due.push_back(one);
    else
      left.Add(one);
  }
  *this = std::move(left);
  return due;
}

void Expiry::Ring() {
  const std::int64_t now = UnixMs(executor_.clock().Now());
  std::vector<Deadline> due;
  std::int64_t next = INT64_MAX;
  {
    MutexLock lock(mu_);
    while (!batches_.empty() && batches_.begin()->first <= now / kBatchMs) {
      const auto first = batches_.begin();
      for (Deadline& deadline : first->second.TakeDue(now)) due.push_back(std::move(deadline));
      if (!first->second.empty()) break;
      batches_.erase(first);
    }
    if (!batches_.empty()) next = batches_.begin()->second.earliest();
  }
  for (Deadline& deadline : due) Delete(std::move(deadline));
  if (next != INT64_MAX) Arm(next);
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
