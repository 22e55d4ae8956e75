#include "store/memory/memory_store.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include "base/run/mutex.h"
#include "store/log/expiry.h"
#include "store/log/history.h"
#include "store/log/sequencer.h"
#include "store/log/watch_hub.h"

namespace flyball::store {
namespace {

using Done = UniqueFunction<void(Result<CommitOutcome>)>;

// Events that one catch-up call to a sink carries at most, apart from those of its last revision.
constexpr std::size_t kSliceEvents = 512;

// As long as Kubernetes keeps it in etcd.
constexpr Duration kKeepHistory = std::chrono::minutes(5);
constexpr Duration kMarkEvery = std::chrono::seconds(1);

// Commits one at a time, each with its delivery: the thread that commits is the delivery thread for that
// turn.
class MemoryStore final : public Store, private History {
 public:
  explicit MemoryStore(Executor& executor) : clock_(executor.clock()), expiry_(executor, *this) {}
  ~MemoryStore() override { expiry_.Close(); }

  Revision CurrentRevision() const override { return delivered_.load(); }
  Result<std::optional<KeyValue>> Get(std::string_view key) const override;
  Result<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override;
  Result<std::size_t> Count(std::string_view prefix) const override;
  void Commit(Transaction transaction, Done done) override;
  std::unique_ptr<Watch> WatchPrefix(std::string prefix, Revision after, WatchSink* sink) override;
  Status Compact(Revision revision) override;
  Revision CompactedRevision() const override;
  Status Health() const override { return {}; }
  StoreStats Stats() const override;

 private:
  struct Work {
    Transaction transaction;
    Done done;
  };
  struct Finished {
    CommitOutcome outcome;
    Done done;
  };

  Result<EventSlice> ReadEvents(std::string_view prefix, Revision after, Revision up_to) override;
  PastVersions ChangedSince(std::string_view prefix, std::string_view start, Revision revision) const
      FLYBALL_REQUIRES(mu_);
  // Takes the turn (waiting for other threads' turns), does `work` and whatever sinks commit meanwhile.
  void TakeTurn(std::deque<Work> work);
  Finished CommitOne(Work work);
  void CompactLocked(Revision revision) FLYBALL_REQUIRES(mu_);
  void ForgetOld() FLYBALL_REQUIRES(mu_);

  const Clock& clock_;
  mutable Mutex mu_;
  Sequencer sequencer_ FLYBALL_GUARDED_BY(mu_);
  std::deque<Event> events_ FLYBALL_GUARDED_BY(mu_);
  Revision compacted_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::uint64_t commits_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::deque<std::pair<SteadyTime, Revision>> marks_ FLYBALL_GUARDED_BY(mu_);  // which revision was when

  Mutex turn_;
  std::atomic<std::thread::id> turn_owner_{};
  std::deque<Work> nested_;  // committed by sinks; the owner of the turn's
  WatchHub hub_;
  std::atomic<Revision> delivered_{1};
  Expiry expiry_;
};

Result<std::optional<KeyValue>> MemoryStore::Get(std::string_view key) const {
  MutexLock lock(mu_);
  const Entry* entry = sequencer_.keyspace().Find(key);
  return entry ? std::optional(entry->ToKeyValue()) : std::nullopt;
}

Result<std::size_t> MemoryStore::Count(std::string_view prefix) const {
  MutexLock lock(mu_);
  return sequencer_.keyspace().Count(prefix);
}

Result<RangeResult> MemoryStore::Range(std::string_view prefix, const RangeOptions& options) const {
  Keyspace::Slice slice;
  PastVersions changed;
  Revision now = 0;
  {
    MutexLock lock(mu_);
    now = sequencer_.published();
    if (options.revision > now) return Unexpected(FutureRevisionError(options.revision, now));
    if (options.revision != 0 && options.revision < compacted_)
      return Unexpected(CompactedError(options.revision, compacted_));
    const bool past = options.revision != 0 && options.revision != now;
    slice = sequencer_.keyspace().Read(prefix, options.start, past ? 0 : options.limit);
    if (past) changed = ChangedSince(prefix, options.start, options.revision);
  }
  if (options.revision == 0 || options.revision == now) return PresentRange(slice, now, nullptr);
  return RangeInPast(slice, changed, options.revision, options.limit, nullptr);
}

PastVersions MemoryStore::ChangedSince(std::string_view prefix, std::string_view start,
                                       Revision revision) const {
  PastVersions changed;
  auto it = std::upper_bound(events_.begin(), events_.end(), revision,
                             [](Revision r, const Event& event) { return r < event.kv.mod_revision; });
  for (; it != events_.end(); ++it) {
    if (!it->kv.key.starts_with(prefix) || it->kv.key < start) continue;
    PastVersion version;
    if (it->previous) version = {MakeLogId(it->previous->mod_revision, 0), it->previous};
    changed.try_emplace(it->kv.key, std::move(version));  // the first change since then says what was there
  }
  return changed;
}

Result<EventSlice> MemoryStore::ReadEvents(std::string_view prefix, Revision after, Revision up_to) {
  MutexLock lock(mu_);
  if (after < compacted_) return Unexpected(CompactedError(after, compacted_));
  EventSlice slice;
  slice.reached = after;
  auto it = std::upper_bound(events_.begin(), events_.end(), after,
                             [](Revision r, const Event& event) { return r < event.kv.mod_revision; });
  for (; it != events_.end() && it->kv.mod_revision <= up_to; ++it) {
    if (slice.events.size() >= kSliceEvents && it->kv.mod_revision != slice.reached) return slice;
    slice.reached = it->kv.mod_revision;
    if (it->kv.key.starts_with(prefix)) slice.events.push_back(*it);
  }
  slice.reached = up_to;
  return slice;
}

void MemoryStore::Commit(Transaction transaction, Done done) {
  if (Status valid = CheckTransaction(transaction); !valid) return done(Unexpected(valid.error()));
  if (turn_owner_.load() == std::this_thread::get_id()) {
    nested_.push_back({std::move(transaction), std::move(done)});
    return;
  }
  std::deque<Work> work;
  work.push_back({std::move(transaction), std::move(done)});
  TakeTurn(std::move(work));
}

void MemoryStore::TakeTurn(std::deque<Work> work) {
  std::vector<Finished> finished;
  {
    // Held through the sinks' calls on purpose: it is the order of deliveries, nothing that a reader takes.
    MutexLock turn(turn_);
    turn_owner_ = std::this_thread::get_id();
    nested_ = std::move(work);
    while (!nested_.empty()) {
      Work next = std::move(nested_.front());
      nested_.pop_front();
      finished.push_back(CommitOne(std::move(next)));
    }
    hub_.Admit(delivered_);
    while (hub_.CatchUp(*this, delivered_)) {
    }
    turn_owner_ = std::thread::id{};
  }
  for (Finished& f : finished) f.done(std::move(f.outcome));
}

MemoryStore::Finished MemoryStore::CommitOne(Work work) {
  Decision decision;
  std::vector<Event> events;
  {
    MutexLock lock(mu_);
    decision = sequencer_.Decide(std::move(work.transaction), clock_.Now());
    AppendEvents(decision, &events);
    events_.insert(events_.end(), events.begin(), events.end());
    sequencer_.Publish(decision);
    if (!events.empty()) {
      ++commits_;
      ForgetOld();
    }
  }
  for (std::size_t i = 0; i < events.size(); ++i) {  // one event a change, in the same order
    const Change& change = decision.changes[i];
    if (change.expires_unix_ms != 0)
      expiry_.Add(events[i].kv.key, RevisionOf(change.id), change.expires_unix_ms);
  }
  const bool changed = !events.empty();
  hub_.Deliver(std::move(events));
  if (changed) delivered_ = decision.outcome.revision;
  return {std::move(decision.outcome), std::move(work.done)};
}

std::unique_ptr<Watch> MemoryStore::WatchPrefix(std::string prefix, Revision after, WatchSink* sink) {
  if (after == 0) {
    MutexLock lock(mu_);
    after = sequencer_.published();
  }
  auto watch = hub_.Add(std::move(prefix), after, sink);
  if (turn_owner_.load() != std::this_thread::get_id()) TakeTurn({});
  return watch;
}

Status MemoryStore::Compact(Revision revision) {
  MutexLock lock(mu_);
  if (revision > sequencer_.published())
    return Unexpected(FutureRevisionError(revision, sequencer_.published()));
  CompactLocked(revision);
  return {};
}

void MemoryStore::CompactLocked(Revision revision) {
  compacted_ = std::max(compacted_, revision);
  while (!events_.empty() && events_.front().kv.mod_revision <= compacted_) events_.pop_front();
}

// Done by commits, not by a timer: a simulation in which nothing happens has nothing to run.
void MemoryStore::ForgetOld() {
  const SteadyTime now = clock_.Steady();
  if (marks_.empty() || now - marks_.back().first >= kMarkEvery)
    marks_.emplace_back(now, sequencer_.published());
  while (now - marks_.front().first > kKeepHistory) {
    CompactLocked(marks_.front().second);
    marks_.pop_front();
  }
}

Revision MemoryStore::CompactedRevision() const {
  MutexLock lock(mu_);
  return compacted_;
}

StoreStats MemoryStore::Stats() const {
  MutexLock lock(mu_);
  StoreStats stats;
  stats.revision = sequencer_.published();
  stats.compacted_revision = compacted_;
  stats.keys = sequencer_.keyspace().size();
  stats.commits = commits_;
  return stats;
}

}  // namespace

std::unique_ptr<Store> NewMemoryStore(Executor& executor) {
  return std::make_unique<MemoryStore>(executor);
}

}  // namespace flyball::store
