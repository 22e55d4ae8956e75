#include "store/sqlite/sqlite_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "base/run/thread.h"
#include "store/log/expiry.h"
#include "store/log/sequencer.h"
#include "store/log/watch_hub.h"
#include "store/sqlite/space_quota.h"
#include "store/sqlite/sqlite_history.h"
#include "store/sqlite/sqlite_log.h"

namespace flyball::store {
namespace {

using Done = UniqueFunction<void(Result<CommitOutcome>)>;

// One transaction of SQLite's takes at most so many of ours: bounds the time the first of them waits for the
// last.
constexpr std::size_t kMaxBatch = 1024;
// Writes that may wait for the committer. Beyond it they are refused: the disk does not keep up.
constexpr std::size_t kMaxQueue = 65536;

// Rows looked at for compaction between two batches: so few that a write hardly waits for them, and at least
// twice as many as the batch has written, so that compaction gets done however much is written.
constexpr std::size_t kScrubRows = 64;
constexpr std::size_t kScrubRowsPerCommit = 2;

class SqliteStore final : public Store {
 public:
  SqliteStore(const SqliteOptions& options, Executor& executor, FileLock lock,
              std::unique_ptr<SqliteLog> log);
  ~SqliteStore() override;
  // Reads the file into memory and starts the committer.
  Status Start();

  Revision CurrentRevision() const override { return delivered_.load(); }
  Result<std::optional<KeyValue>> Get(std::string_view key) const override;
  Result<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override;
  Result<std::size_t> Count(std::string_view prefix) const override;
  void Commit(Transaction transaction, Done done) override;
  std::unique_ptr<Watch> WatchPrefix(std::string prefix, Revision after, WatchSink* sink) override;
  Status Compact(Revision revision) override;
  Revision CompactedRevision() const override { return compacted_.load(); }
  Status Health() const override;
  StoreStats Stats() const override;

 private:
  struct Queued {
    Decision decision;
    Done done;
    std::int64_t cost = 0;  // to the quota
  };
  using Batch = std::vector<Queued>;

  Result<std::optional<KeyValue>> TryGet(std::string_view key) const;
  Result<RangeResult> RangeNow(std::string_view prefix, const RangeOptions& options) const;
  Result<RangeResult> RangeAt(std::string_view prefix, const RangeOptions& options) const;
  // For values that are in the file alone; Expired once `wanted` is compacted.
  VersionLoader LoaderAt(Revision wanted) const {
    return [this, wanted](const std::string& key, LogId id) { return past_.Load(key, id, wanted); };
  }
  void TickCompaction();

  // The committer.
  void RunCommitter();
  // Waits for something to do. False: the store is closing and everything queued is done.
  bool NextBatch(bool may_wait, Batch* batch);
  void Write(Batch batch);
  Status MakeDurable(const Batch& batch);
  Status SettleAfterFailure();
  void Publish(Batch batch);
  Status PublishFound(Revision durable);
  void RestoreRow(const LogRow& row) FLYBALL_NO_THREAD_SAFETY_ANALYSIS;  // requires mu_
  void Fail(Batch batch, const Error& error);
  // Watches that are behind, compaction, checkpoint: one small step. False: nothing is left to do.
  bool DoBackgroundStep(std::size_t written);
  void SetHealth(Status status);
  // True if the quota lets a transaction of this cost in. Logs a change of the alarm.
  bool HasSpaceFor(std::int64_t cost);
  void FinishCost(const Batch& batch);
  Status MeasureSpace();

  const std::string path_;
  const Clock& clock_;
  const Duration compaction_interval_;
  FileLock lock_;
  SpaceQuota quota_;

  mutable Mutex mu_;
  mutable CondVar work_ready_;
  Sequencer sequencer_ FLYBALL_GUARDED_BY(mu_);
  std::deque<Queued> queue_ FLYBALL_GUARDED_BY(mu_);
  mutable bool wake_ FLYBALL_GUARDED_BY(mu_) = false;  // there is work beside the queue
  mutable bool probe_ FLYBALL_GUARDED_BY(mu_) = false;
  bool waiting_ FLYBALL_GUARDED_BY(mu_) = false;
  bool stopping_ FLYBALL_GUARDED_BY(mu_) = false;
  Status health_ FLYBALL_GUARDED_BY(mu_);
  Revision tick_revision_ FLYBALL_GUARDED_BY(mu_) = 0;

  std::atomic<Revision> delivered_{1};
  std::atomic<Revision> compacted_{0};
  std::atomic<std::uint64_t> commits_{0}, syncs_{0};
  std::atomic<bool> progress_wanted_{false};
  mutable SqliteHistory past_;  // for readers
  Expiry expiry_;
  Alarm compaction_;

  // The committer's own.
  std::unique_ptr<SqliteLog> log_;
  SqliteHistory replay_;  // for watches that catch up
  WatchHub hub_;
  bool unsettled_ = false;  // a write failed and nothing has been written since
  Thread committer_;        // last: the rest must outlive it
};

SqliteStore::SqliteStore(const SqliteOptions& options, Executor& executor, FileLock lock,
                         std::unique_ptr<SqliteLog> log)
    : path_(options.path),
      clock_(executor.clock()),
      compaction_interval_(options.compaction_interval),
      lock_(std::move(lock)),
      quota_(options.quota_bytes),
      sequencer_(Sequencer::ExpiringValues::kInFile),
      past_(options.path, options.vfs, compacted_),
      expiry_(executor, *this),
      compaction_(executor, [this] { TickCompaction(); }),
      log_(std::move(log)),
      replay_(options.path, options.vfs, compacted_) {}

SqliteStore::~SqliteStore() {
  expiry_.Close();
  compaction_.Close();
  {
    MutexLock lock(mu_);
    stopping_ = true;
    work_ready_.NotifyAll();
  }
  committer_.Join();
  // The writer closes last and so leaves one whole file, without a write-ahead log.
  past_.Close();
  replay_.Close();
  log_.reset();
}

Status SqliteStore::Start() {
  struct Expiring {
    std::string key;
    LogId id;
    std::int64_t unix_ms;
  };
  std::vector<Expiring> expiring;
  {
    MutexLock lock(mu_);
    LogId last = 0;
    FLYBALL_TRY(log_->Replay(0, [&](const LogRow& row) {
      last = row.id;
      if (row.expires_unix_ms != 0) expiring.push_back({std::string(row.key), row.id, row.expires_unix_ms});
      RestoreRow(row);
    }));
    const Meta& meta = log_->meta();
    sequencer_.Advance(std::max({RevisionOf(last), meta.compacted, meta.floor}));
    std::erase_if(expiring, [&](const Expiring& e) FLYBALL_NO_THREAD_SAFETY_ANALYSIS {
      const Entry* entry = sequencer_.keyspace().Find(e.key);
      return !entry || entry->id != e.id;
    });
    compacted_ = meta.compacted;
    delivered_ = sequencer_.published();
    tick_revision_ = sequencer_.published();
  }
  FLYBALL_TRY(MeasureSpace());
  committer_ = Thread("store-commit", [this] { RunCommitter(); });
  for (Expiring& e : expiring) expiry_.Add(std::move(e.key), RevisionOf(e.id), e.unix_ms);
  if (compaction_interval_ > Duration::zero()) compaction_.Set(clock_.Steady() + compaction_interval_);
  return {};
}

// What is read of the present may be replaced, and compacted at once, before its value is read: then it is
// read again. A compaction is never of the future, so that it comes to an end.
template <typename Read>
auto ReadPresent(Read&& read) {
  for (;;) {
    auto result = read();
    if (result || !result.error().Is(Reason::kExpired)) return result;
  }
}

Result<std::optional<KeyValue>> SqliteStore::Get(std::string_view key) const {
  return ReadPresent([&] { return TryGet(key); });
}

Result<std::optional<KeyValue>> SqliteStore::TryGet(std::string_view key) const {
  Entry found;
  Revision now = 0;
  {
    MutexLock lock(mu_);
    const Entry* entry = sequencer_.keyspace().Find(key);
    if (!entry) return std::optional<KeyValue>();
    found = *entry;
    now = sequencer_.published();
  }
  if (found.value) return std::optional(found.ToKeyValue());
  FLYBALL_ASSIGN(KeyValue kv, past_.Load(found.key, found.id, now));
  return std::optional(std::move(kv));
}

Result<std::size_t> SqliteStore::Count(std::string_view prefix) const {
  MutexLock lock(mu_);
  return sequencer_.keyspace().Count(prefix);
}

Result<RangeResult> SqliteStore::Range(std::string_view prefix, const RangeOptions& options) const {
  if (options.revision != 0) return RangeAt(prefix, options);
  return ReadPresent([&] { return RangeNow(prefix, options); });
}

Result<RangeResult> SqliteStore::RangeNow(std::string_view prefix, const RangeOptions& options) const {
  Keyspace::Slice slice;
  Revision now = 0;
  {
    MutexLock lock(mu_);
    now = sequencer_.published();
    slice = sequencer_.keyspace().Read(prefix, options.start, options.limit);
  }
  return PresentRange(slice, now, LoaderAt(now));
}

Result<RangeResult> SqliteStore::RangeAt(std::string_view prefix, const RangeOptions& options) const {
  Keyspace::Slice slice;
  Revision now = 0;
  {
    MutexLock lock(mu_);
    now = sequencer_.published();
    slice = sequencer_.keyspace().Read(prefix, options.start, 0);
  }
  if (options.revision > now) return Unexpected(FutureRevisionError(options.revision, now));
  if (options.revision < compacted_) return Unexpected(CompactedError(options.revision, compacted_));
  FLYBALL_ASSIGN(PastVersions changed, past_.ChangedSince(prefix, options.start, options.revision, now));
  return RangeInPast(slice, changed, options.revision, options.limit, LoaderAt(options.revision));
}

void SqliteStore::Commit(Transaction transaction, Done done) {
  if (Status valid = CheckTransaction(transaction); !valid) return done(Unexpected(valid.error()));
  const std::int64_t cost = SpaceQuota::CostOf(transaction);
  if (!HasSpaceFor(cost)) return done(Unexpected(NoSpaceError()));
  const TimePoint now = clock_.Now();
  bool full = false;
  {
    MutexLock lock(mu_);
    full = queue_.size() >= kMaxQueue;
    if (!full) {
      // Also an answer that changes nothing waits in the queue: it may rest on a change that is not yet
      // durable.
      queue_.push_back({sequencer_.Decide(std::move(transaction), now), std::move(done), cost});
      if (waiting_) work_ready_.NotifyOne();
    }
  }
  if (!full) return;
  quota_.Finish(cost);
  done(Unexpected(
      Error(Reason::kTooManyRequests, "store " + path_ + ": too many writes are waiting for the disk")));
}

bool SqliteStore::HasSpaceFor(std::int64_t cost) {
  const SpaceQuota::Verdict verdict = quota_.Admit(cost);
  if (verdict == SpaceQuota::Verdict::kAlarmRaised) {
    log::Error("store has reached its size quota (alarm NOSPACE); only deletions are taken until it is below",
               {{"path", path_},
                {"quota_bytes", std::to_string(quota_.limit())},
                {"used_bytes", std::to_string(quota_.used())}});
    MutexLock lock(mu_);
    wake_ = true;  // the committer measures: what was counted along may be too much
    work_ready_.NotifyOne();
  }
  return verdict == SpaceQuota::Verdict::kAdmitted;
}

void SqliteStore::FinishCost(const Batch& batch) {
  std::int64_t cost = 0;
  for (const Queued& queued : batch) cost += queued.cost;
  quota_.Finish(cost);
}

Status SqliteStore::MeasureSpace() {
  FLYBALL_ASSIGN(const std::int64_t used, log_->UsedBytes());
  if (quota_.Measured(used))
    log::Info("store is below its size quota again and takes writes", {{"path", path_}});
  return {};
}

std::unique_ptr<Watch> SqliteStore::WatchPrefix(std::string prefix, Revision after, WatchSink* sink) {
  MutexLock lock(mu_);
  if (after == 0) after = sequencer_.published();
  auto watch = hub_.Add(std::move(prefix), after, sink);
  wake_ = true;
  work_ready_.NotifyOne();
  return watch;
}

Status SqliteStore::Compact(Revision revision) {
  MutexLock lock(mu_);
  if (revision > sequencer_.published())
    return Unexpected(FutureRevisionError(revision, sequencer_.published()));
  if (revision <= compacted_) return {};
  compacted_ = revision;
  wake_ = true;
  work_ready_.NotifyOne();
  return {};
}

// As Kubernetes does it: what was current one interval ago is the oldest that is kept.
void SqliteStore::TickCompaction() {
  Revision target = 0;
  {
    MutexLock lock(mu_);
    target = std::exchange(tick_revision_, sequencer_.published());
    progress_wanted_ = true;
    wake_ = true;
    work_ready_.NotifyOne();
  }
  static_cast<void>(Compact(target));  // never in the future
  compaction_.Set(clock_.Steady() + compaction_interval_);
}

Status SqliteStore::Health() const {
  MutexLock lock(mu_);
  if (!health_) {
    // Have the committer try again: without a write nobody else would find out that the disk is well.
    probe_ = true;
    wake_ = true;
    work_ready_.NotifyOne();
  }
  return health_;
}

StoreStats SqliteStore::Stats() const {
  StoreStats stats;
  {
    MutexLock lock(mu_);
    stats.revision = sequencer_.published();
    stats.keys = sequencer_.keyspace().size();
  }
  stats.compacted_revision = compacted_;
  stats.commits = commits_;
  stats.syncs = syncs_;
  stats.bytes_in_use = static_cast<std::size_t>(quota_.used());
  stats.quota_bytes = static_cast<std::size_t>(quota_.limit());
  stats.no_space = quota_.alarm();
  for (const char* suffix : {"", "-wal"}) {
    struct stat file {};
    if (stat((path_ + suffix).c_str(), &file) == 0)
      stats.bytes_on_disk += static_cast<std::size_t>(file.st_size);
  }
  return stats;
}

void SqliteStore::RunCommitter() {
  Batch batch;
  for (bool busy = false; NextBatch(!busy, &batch);) {
    // Before the batch: a watch that was begun before a commit sees it before the commit is acknowledged.
    hub_.Admit(delivered_);
    const std::size_t written = batch.size();
    if (!batch.empty()) Write(std::exchange(batch, {}));
    busy = DoBackgroundStep(written);
    syncs_ = log_->syncs();
  }
  // A compaction that was asked for just before the end goes on with the next start.
  if (unsettled_ || log_->meta().compacted >= compacted_) return;
  if (const Status kept = log_->SetCompacted(compacted_); !kept) SetHealth(kept);
}

bool SqliteStore::NextBatch(bool may_wait, Batch* batch) {
  MutexLock lock(mu_);
  while (may_wait && queue_.empty() && !wake_ && !stopping_) {
    waiting_ = true;
    work_ready_.Wait(mu_);
    waiting_ = false;
  }
  wake_ = false;
  while (!queue_.empty() && batch->size() < kMaxBatch) {
    batch->push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return !batch->empty() || !stopping_;
}

void SqliteStore::Write(Batch batch) {
  if (Status durable = MakeDurable(batch); !durable)
    Fail(std::move(batch), durable.error());
  else
    Publish(std::move(batch));
}

Status SqliteStore::MakeDurable(const Batch& batch) {
  std::vector<const Decision*> decisions;
  for (const Queued& queued : batch)
    if (!queued.decision.changes.empty()) decisions.push_back(&queued.decision);
  if (decisions.empty()) return {};
  FLYBALL_TRY(SettleAfterFailure());
  if (Status written = log_->Append(decisions); !written) {
    unsettled_ = true;
    return written;
  }
  commits_ += decisions.size();
  syncs_ = log_->syncs();  // before the writers are answered: they may ask
  SetHealth({});
  return {};
}

Status SqliteStore::SettleAfterFailure() {
  if (!unsettled_) return {};
  FLYBALL_ASSIGN(const Revision durable, log_->Settle());
  FLYBALL_TRY(PublishFound(durable));
  unsettled_ = false;
  SetHealth({});
  return {};
}

void SqliteStore::SetHealth(Status status) {
  MutexLock lock(mu_);
  if (health_.has_value() != status.has_value()) {
    if (status)
      log::Info("store takes writes again", {{"path", path_}});
    else
      log::Error("store cannot write", {{"error", status.error().message()}});
  }
  health_ = std::move(status);
}

void SqliteStore::Publish(Batch batch) {
  FinishCost(batch);
  std::vector<Event> events;
  for (const Queued& queued : batch) AppendEvents(queued.decision, &events);
  for (const Queued& queued : batch)
    for (const Change& change : queued.decision.changes)
      if (change.expires_unix_ms != 0) expiry_.Add(change.key, RevisionOf(change.id), change.expires_unix_ms);
  Revision published = 0;
  {
    MutexLock lock(mu_);
    for (Queued& queued : batch) sequencer_.Publish(queued.decision);
    published = sequencer_.published();
  }
  hub_.Deliver(std::move(events));
  delivered_ = published;
  for (Queued& queued : batch) queued.done(std::move(queued.decision.outcome));
}

// What was reported as failed and is durable nevertheless ("not known" in Commit's words).
Status SqliteStore::PublishFound(Revision durable) {
  if (durable <= delivered_) return {};
  {
    MutexLock lock(mu_);
    FLYBALL_TRY(log_->Replay(LastLogId(delivered_), [&](const LogRow& row) { RestoreRow(row); }));
    sequencer_.Advance(durable);
  }
  while (delivered_ < durable) {
    FLYBALL_ASSIGN(EventSlice slice, replay_.ReadEvents("", delivered_, durable));
    hub_.Deliver(std::move(slice.events));
    delivered_ = slice.reached;
  }
  return {};
}

void SqliteStore::RestoreRow(const LogRow& row) {
  Change change;
  change.key = row.key;
  change.value = row.deleted ? nullptr : MakeBytes(std::string(row.value));
  change.created = row.created;
  change.id = row.id;
  change.expires_unix_ms = row.expires_unix_ms;
  sequencer_.Restore(std::move(change));
}

void SqliteStore::Fail(Batch batch, const Error& error) {
  SetHealth(Unexpected(error));
  {
    MutexLock lock(mu_);
    // What was decided since rests on what failed.
    for (Queued& queued : queue_) batch.push_back(std::move(queued));
    queue_.clear();
    sequencer_.Rewind();
  }
  FinishCost(batch);
  for (Queued& queued : batch) queued.done(Unexpected(error));
}

bool SqliteStore::DoBackgroundStep(std::size_t written) {
  if (progress_wanted_.exchange(false)) hub_.Progress(delivered_);
  bool more = hub_.CatchUp(replay_, delivered_);
  Status status;
  {
    MutexLock lock(mu_);
    if (!std::exchange(probe_, false) && !health_) return more;
  }
  status = SettleAfterFailure();
  if (status && log_->meta().compacted < compacted_) status = log_->SetCompacted(compacted_);
  if (status && log_->NeedsScrub()) {
    status = log_->Scrub(std::max(kScrubRows, written * kScrubRowsPerCommit));
    more = true;
  }
  if (status && quota_.WantsMeasure()) status = MeasureSpace();
  if (status && log_->WantsCheckpoint()) status = log_->Checkpoint();
  if (status) return more || log_->NeedsScrub();
  unsettled_ = true;
  SetHealth(status);
  return more;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options, Executor& executor) {
  FLYBALL_ASSIGN(FileLock lock, FileLock::Acquire(options.path));
  FLYBALL_TRY(MakePrivateFile(options.path));
  FLYBALL_ASSIGN(std::unique_ptr<SqliteLog> log,
                 SqliteLog::Open(options.path, options.vfs, options.checkpoint_pages, options.sync));
  auto store = std::make_unique<SqliteStore>(options, executor, std::move(lock), std::move(log));
  FLYBALL_TRY(store->Start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace flyball::store
