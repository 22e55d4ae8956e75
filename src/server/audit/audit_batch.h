// AuditBatch: events that wait to be handed on in batches (upstream: the buffered backend). Bounded: when it
// is full, events are dropped and counted.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/alarm.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "server/audit/audit_backend.h"
#include "server/audit/audit_options.h"

namespace flyball::server {

using AuditBatchEntries = std::vector<AuditEntryPtr>;

// Thread-safe.
class AuditBatch final : public AuditBackend {
 public:
  // Hands a batch on; `done` is called once when that is over, however it ended.
  using Send = std::function<void(AuditBatchEntries batch, UniqueFunction<void(bool)> done)>;

  // Beside the number of events: what may wait, in bytes.
  static constexpr std::size_t kMaxBufferedBytes = 64 << 20;
  // Batches handed on at a time; upstream has no bound.
  static constexpr int kMaxUnderWay = 4;
  // What waits when the server stops gets so long.
  static constexpr Duration kClosingTime = std::chrono::seconds(5);

  // `abort` ends what `send` has under way, at once. The executor outlives this and runs until then.
  AuditBatch(
      const AuditBatchOptions& options, std::int64_t max_batch_bytes, Executor& executor, Metrics& metrics,
      Send send, Closure abort = [] {});
  ~AuditBatch() override;

  void Process(AuditEntryPtr entry, UniqueFunction<void(bool)> done) override;

 private:
  // Sends what is due: a full batch, or one whose first event has waited long enough, or all when closing.
  void Pump();
  // The next batch, if one is due and may be sent now; otherwise sets the alarm. Empty: none.
  AuditBatchEntries NextBatch() FLYBALL_REQUIRES(mu_);
  // Whether the throttle lets a batch through; if not, when it will.
  bool TakeToken(SteadyTime now, SteadyTime* when) FLYBALL_REQUIRES(mu_);
  void Finished();

  struct Waiting {
    AuditEntryPtr entry;
    SteadyTime since;
  };

  const AuditBatchOptions options_;
  const std::size_t max_batch_bytes_;
  Executor& executor_;
  Counter& dropped_;
  const Send send_;
  Closure abort_;
  Mutex mu_;
  CondVar idle_;
  std::deque<Waiting> waiting_ FLYBALL_GUARDED_BY(mu_);
  std::size_t bytes_ FLYBALL_GUARDED_BY(mu_) = 0;
  int under_way_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool closing_ FLYBALL_GUARDED_BY(mu_) = false;
  bool out_of_time_ FLYBALL_GUARDED_BY(mu_) = false;
  bool full_ FLYBALL_GUARDED_BY(mu_) = false;  // so that one line is logged, not one per event
  double tokens_ FLYBALL_GUARDED_BY(mu_) = 0;
  SteadyTime tokens_at_ FLYBALL_GUARDED_BY(mu_){};
  Alarm closing_alarm_;
  Alarm alarm_;  // last: both are closed before the rest goes
};

}  // namespace flyball::server
