#include "server/audit/audit_batch.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::server {

AuditBatch::AuditBatch(const AuditBatchOptions& options, std::int64_t max_batch_bytes, Executor& executor,
                       Metrics& metrics, Send send, Closure abort)
    : options_(options),
      max_batch_bytes_(static_cast<std::size_t>(max_batch_bytes)),
      executor_(executor),
      dropped_(metrics.GetCounter("apiserver_audit_error_total",
                                  "Counter of audit events that failed to be audited properly. Plugin "
                                  "identifies the plugin affected by the error.",
                                  {{"plugin", "buffered"}})),
      send_(std::move(send)),
      abort_(std::move(abort)),
      tokens_(options.throttle_burst),
      tokens_at_(executor.clock().Steady()),
      closing_alarm_(executor,
                     [this] {
                       MutexLock lock(mu_);
                       out_of_time_ = true;
                       idle_.NotifyAll();
                     }),
      alarm_(executor, [this] { Pump(); }) {}

AuditBatch::~AuditBatch() {
  closing_alarm_.Set(executor_.clock().Steady() + kClosingTime);
  std::size_t lost = 0;
  {
    MutexLock lock(mu_);
    closing_ = true;
    alarm_.Set(executor_.clock().Steady());
    while ((!waiting_.empty() || under_way_ > 0) && !out_of_time_) idle_.Wait(mu_);
    lost = waiting_.size();
    waiting_.clear();
  }
  abort_();
  MutexLock lock(mu_);
  while (under_way_ > 0) idle_.Wait(mu_);
  if (lost > 0) log::Error("audit events were lost at the end", {{"events", std::to_string(lost)}});
}

void AuditBatch::Process(AuditEntryPtr entry, UniqueFunction<void(bool)> done) {
  bool accepted = false, first_drop = false;
  {
    MutexLock lock(mu_);
    const std::size_t size = entry->text->size();
    accepted = !closing_ && waiting_.size() < static_cast<std::size_t>(options_.buffer_size) &&
               bytes_ + size <= kMaxBufferedBytes;
    if (accepted) {
      full_ = false;
      bytes_ += size;
      waiting_.push_back({std::move(entry), executor_.clock().Steady()});
      const bool due =
          waiting_.size() >= static_cast<std::size_t>(options_.max_size) || bytes_ >= max_batch_bytes_;
      if (due)
        alarm_.Set(executor_.clock().Steady());
      else if (waiting_.size() == 1)
        alarm_.Set(waiting_.front().since + options_.max_wait);
    } else {
      first_drop = !std::exchange(full_, true);
    }
  }
  if (!accepted) dropped_.Add();
  if (first_drop) log::Error("audit buffer queue blocked; events are dropped until it drains");
  done(true);
}

bool AuditBatch::TakeToken(SteadyTime now, SteadyTime* when) {
  if (!options_.throttle_enable || closing_) return true;
  const double passed = std::chrono::duration<double>(now - tokens_at_).count();
  tokens_ = std::min<double>(options_.throttle_burst, tokens_ + passed * options_.throttle_qps);
  tokens_at_ = now;
  if (tokens_ < 1) {
    *when = now + std::chrono::duration_cast<Duration>(
                      std::chrono::duration<double>((1 - tokens_) / options_.throttle_qps));
    return false;
  }
  tokens_ -= 1;
  return true;
}

AuditBatchEntries AuditBatch::NextBatch() {
  if (waiting_.empty() || under_way_ >= kMaxUnderWay) return {};
  const SteadyTime now = executor_.clock().Steady();
  const SteadyTime due = waiting_.front().since + options_.max_wait;
  const bool full =
      waiting_.size() >= static_cast<std::size_t>(options_.max_size) || bytes_ >= max_batch_bytes_;
  if (!full && !closing_ && now < due) {
    alarm_.Set(due);
    return {};
  }
  SteadyTime allowed{};
  if (!TakeToken(now, &allowed)) {
    alarm_.Set(allowed);
    return {};
  }
  AuditBatchEntries batch;
  std::size_t size = 0;
  while (!waiting_.empty() && batch.size() < static_cast<std::size_t>(options_.max_size)) {
    const std::size_t more = waiting_.front().entry->text->size();
    if (!batch.empty() && size + more > max_batch_bytes_) break;
    size += more;
    batch.push_back(std::move(waiting_.front().entry));
    waiting_.pop_front();
  }
  bytes_ -= size;
  ++under_way_;
  return batch;
}

void AuditBatch::Pump() {
  for (;;) {
    AuditBatchEntries batch;
    {
      MutexLock lock(mu_);
      batch = NextBatch();
    }
    if (batch.empty()) return;
    send_(std::move(batch), [this](bool) { Finished(); });
  }
}

void AuditBatch::Finished() {
  // Under the lock to its end: once nothing is under way, this may be destroyed.
  MutexLock lock(mu_);
  --under_way_;
  if (!waiting_.empty()) alarm_.Set(executor_.clock().Steady());
  idle_.NotifyAll();
}

}  // namespace flyball::server
