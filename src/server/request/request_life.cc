#include "server/request/request_life.h"

#include <vector>

#include "server/request/answer.h"

namespace flyball::server {
namespace {

Error TimedOut(std::string_view why) {
  return Error(Reason::kTimeout, "Timeout: " + std::string(why));
}

}  // namespace

Status RequestLife::Check() const {
  constexpr std::string_view kStopped = "request did not complete within requested timeout - ";
  if (expired_.load(std::memory_order_relaxed))
    return Unexpected(TimedOut(std::string(kStopped) + "context deadline exceeded"));
  if (stream_->likely_gone()) return Unexpected(TimedOut(std::string(kStopped) + "context canceled"));
  return {};
}

void RequestLife::Expire() {
  Closure on_expire;
  {
    MutexLock lock(mu_);
    expired_.store(true, std::memory_order_relaxed);
    on_expire = std::exchange(on_expire_, nullptr);
  }
  AnswerTimeout();
  if (on_expire) on_expire();
}

void RequestLife::OnExpire(Closure fn) {
  {
    MutexLock lock(mu_);
    if (!expired_.load(std::memory_order_relaxed)) {
      on_expire_ = std::move(fn);
      return;
    }
  }
  fn();
}

void RequestLife::AnswerTimeout() {
  if (!TakeAnswer()) return;
  Answer answer = ErrorAnswer(TimedOut("request did not complete within the allotted timeout"));
  if (!audit_id_.empty()) answer.headers.Set("audit-id", audit_id_);
  SendAnswer(*stream_, std::move(answer), {});
}

std::shared_ptr<RequestDeadlines> RequestDeadlines::Make(Executor& executor, Duration limit) {
  return std::shared_ptr<RequestDeadlines>(new RequestDeadlines(executor, limit));
}

RequestDeadlines::~RequestDeadlines() {
  if (timer_ != kNoTimer) executor_.Cancel(timer_);
}

RequestDeadlines::Running RequestDeadlines::Start(std::shared_ptr<RequestLife> life, Duration asked) {
  const Duration allowed = asked > Duration::zero() && asked < limit_ ? asked : limit_;
  const SteadyTime deadline = executor_.clock().Steady() + allowed;
  MutexLock lock(mu_);
  const std::uint64_t number = next_number_++;
  running_.emplace(Key(deadline, number), life);
  if (deadline < armed_for_) ArmFor(deadline);
  return {shared_from_this(), deadline, number, std::move(life)};
}

RequestDeadlines::Running::~Running() {
  if (owner_) owner_->Forget({deadline_, number_});
}

void RequestDeadlines::Forget(const Key& key) {
  std::shared_ptr<RequestLife> dropped;  // destroyed outside the lock: it may be the stream's last owner
  MutexLock lock(mu_);
  const auto it = running_.find(key);
  if (it == running_.end()) return;
  dropped = std::move(it->second);
  running_.erase(it);
}

void RequestDeadlines::ArmFor(SteadyTime when) {
  if (timer_ != kNoTimer) executor_.Cancel(timer_);
  armed_for_ = when;
  timer_ = executor_.PostAt(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

void RequestDeadlines::OnTimer() {
  std::vector<std::shared_ptr<RequestLife>> due;
  {
    MutexLock lock(mu_);
    const SteadyTime now = executor_.clock().Steady();
    while (!running_.empty() && running_.begin()->first.first <= now) {
      due.push_back(std::move(running_.begin()->second));
      running_.erase(running_.begin());
    }
    timer_ = kNoTimer;
    armed_for_ = SteadyTime::max();
    if (!running_.empty()) ArmFor(running_.begin()->first.first);
  }
  for (const auto& life : due) life->Expire();
}

}  // namespace flyball::server
