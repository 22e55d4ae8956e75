#include "store/transform/transforming_store.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/run/mutex.h"
#include "base/run/notification.h"

namespace flyball::store {
namespace {

Error CannotTransform(std::string_view key, const Error& why) {
  const bool later = why.Is(Reason::kServiceUnavailable);
  return Error(later ? Reason::kServiceUnavailable : Reason::kInternalError,
               "unable to transform key \"" + std::string(key) + "\": " + why.message());
}

// Values whose commit is under way, by what is stored for them: their events give back the very Bytes the
// writer gave, so that a cache recognises them and nothing is decrypted. Thread-safe.
class ValuesInFlight {
 public:
  void Add(const Bytes& stored, Bytes value) {
    MutexLock lock(mu_);
    values_[stored.get()] = std::move(value);
  }
  void Remove(const Bytes& stored) {
    MutexLock lock(mu_);
    values_.erase(stored.get());
  }
  Bytes Find(const Bytes& stored) const {
    MutexLock lock(mu_);
    const auto it = values_.find(stored.get());
    return it == values_.end() ? nullptr : it->second;
  }

 private:
  mutable Mutex mu_;
  std::unordered_map<const std::string*, Bytes> values_ FLYBALL_GUARDED_BY(mu_);
};

// Turns stored values into plain ones. Thread-safe.
class ValueReader {
 public:
  explicit ValueReader(const ValueTransformer& transformer) : transformer_(transformer) {}

  Status Read(KeyValue& kv) const {
    if (!kv.value) return {};
    if (Bytes known = in_flight.Find(kv.value)) {
      kv.value = std::move(known);
      return {};
    }
    auto value = transformer_.FromStorage(kv.key, kv.value);
    if (!value) return Unexpected(CannotTransform(kv.key, value.error()));
    kv.value = std::move(*value);
    return {};
  }

  // For what was there before, which nobody should fail for.
  void ReadIfPossible(std::optional<KeyValue>& kv) const {
    if (kv && !Read(*kv)) kv->value = nullptr;
  }

  const ValueTransformer& transformer() const { return transformer_; }

  ValuesInFlight in_flight;

 private:
  const ValueTransformer& transformer_;
};

// Stands between the inner store's watch and the sink. Confined to the delivery thread.
class ReadingSink final : public WatchSink {
 public:
  ReadingSink(const ValueReader& reader, WatchSink* sink) : reader_(reader), sink_(sink) {}

  void OnEvents(const std::vector<Event>& events) override {
    if (ended_) return;
    if (!std::any_of(events.begin(), events.end(), [&](const Event& e) { return NeedsReading(e); }))
      return sink_->OnEvents(events);
    std::vector<Event> plain = events;
    for (Event& event : plain) {
      if (const Status read = reader_.Read(event.kv); !read) return End(read.error());
      reader_.ReadIfPossible(event.previous);
    }
    sink_->OnEvents(plain);
  }
  void OnProgress(Revision revision) override {
    if (!ended_) sink_->OnProgress(revision);
  }
  void OnError(const Error& error) override {
    if (!ended_) End(error);
  }

 private:
  bool NeedsReading(const Event& event) const {
    const auto& transformer = reader_.transformer();
    return (event.kv.value && transformer.IsTransformed(*event.kv.value)) ||
           (event.previous && event.previous->value && transformer.IsTransformed(*event.previous->value));
  }
  void End(const Error& error) {
    ended_ = true;
    sink_->OnError(error);
  }

  const ValueReader& reader_;
  WatchSink* const sink_;
  bool ended_ = false;
};

struct ReadingWatch final : Watch {
  std::unique_ptr<ReadingSink> sink;
  std::unique_ptr<Watch> inner;  // last: ends before the sink goes
};

class TransformingStore final : public Store {
 public:
  TransformingStore(std::unique_ptr<Store> inner, const ValueTransformer& transformer)
      : reader_(transformer), inner_(std::move(inner)) {}

  Revision CurrentRevision() const override { return inner_->CurrentRevision(); }
  Result<std::optional<KeyValue>> Get(std::string_view key) const override {
    FLYBALL_ASSIGN(std::optional<KeyValue> kv, inner_->Get(key));
    if (kv) FLYBALL_TRY(reader_.Read(*kv));
    return kv;
  }
  Result<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override {
    FLYBALL_ASSIGN(RangeResult range, inner_->Range(prefix, options));
    for (KeyValue& kv : range.items) FLYBALL_TRY(reader_.Read(kv));
    return range;
  }
  Result<std::size_t> Count(std::string_view prefix) const override { return inner_->Count(prefix); }

  void Commit(Transaction transaction, UniqueFunction<void(Result<CommitOutcome>)> done) override;

  std::unique_ptr<Watch> WatchPrefix(std::string prefix, Revision after, WatchSink* sink) override {
    auto watch = std::make_unique<ReadingWatch>();
    watch->sink = std::make_unique<ReadingSink>(reader_, sink);
    watch->inner = inner_->WatchPrefix(std::move(prefix), after, watch->sink.get());
    return watch;
  }
  bool shared() const override { return inner_->shared(); }
  void CatchUp(UniqueFunction<void(Status)> done) override { inner_->CatchUp(std::move(done)); }
  bool IsStale(std::string_view key) const override {
    if (inner_->IsStale(key)) return true;
    const auto kv = inner_->Get(key);
    return kv && *kv && reader_.transformer().IsStale(key, *(*kv)->value);
  }
  Status Compact(Revision revision) override { return inner_->Compact(revision); }
  Revision CompactedRevision() const override { return inner_->CompactedRevision(); }
  Status Health() const override { return inner_->Health(); }
  StoreStats Stats() const override { return inner_->Stats(); }

 private:
  // Replaces the values by what is to be stored; answers those that differ.
  Result<std::vector<Bytes>> Prepare(Transaction& transaction);

  ValueReader reader_;
  std::unique_ptr<Store> inner_;  // last: its threads call the reader
};

Result<std::vector<Bytes>> TransformingStore::Prepare(Transaction& transaction) {
  std::vector<Bytes> stored(transaction.size());
  for (std::size_t i = 0; i < transaction.size(); ++i) {
    if (!transaction[i].value) continue;
    auto bytes = reader_.transformer().ToStorage(transaction[i].key, transaction[i].value);
    if (!bytes) return Unexpected(CannotTransform(transaction[i].key, bytes.error()));
    stored[i] = std::move(*bytes);
  }
  std::vector<Bytes> changed;
  for (std::size_t i = 0; i < transaction.size(); ++i) {
    if (!stored[i] || stored[i] == transaction[i].value) continue;
    reader_.in_flight.Add(stored[i], std::move(transaction[i].value));
    changed.push_back(stored[i]);
    transaction[i].value = std::move(stored[i]);
  }
  return changed;
}

void TransformingStore::Commit(Transaction transaction, UniqueFunction<void(Result<CommitOutcome>)> done) {
  auto changed = Prepare(transaction);
  if (!changed) return done(Unexpected(changed.error()));
  inner_->Commit(std::move(transaction), [this, changed = std::move(*changed),
                                          done = std::move(done)](Result<CommitOutcome> outcome) mutable {
    if (outcome) {
      reader_.ReadIfPossible(outcome->current);
      for (auto& previous : outcome->previous) reader_.ReadIfPossible(previous);
    }
    for (const Bytes& stored : changed) reader_.in_flight.Remove(stored);
    done(std::move(outcome));
  });
}

Result<CommitOutcome> CommitAndWait(Store& store, Operation operation) {
  const auto finished = std::make_shared<Notification<Result<CommitOutcome>>>();
  Transaction transaction;
  transaction.push_back(std::move(operation));
  store.Commit(std::move(transaction),
               [finished](Result<CommitOutcome> outcome) { finished->Set(std::move(outcome)); });
  return finished->Wait();
}

}  // namespace

std::unique_ptr<Store> NewTransformingStore(std::unique_ptr<Store> inner,
                                            const ValueTransformer& transformer) {
  return std::make_unique<TransformingStore>(std::move(inner), transformer);
}

Result<RewriteResult> RewriteStaleValues(Store& inner, const ValueTransformer& transformer,
                                         const std::function<Duration(std::string_view key)>& ttl_of) {
  FLYBALL_ASSIGN(const RangeResult range, inner.Range(""));
  RewriteResult result;
  for (const KeyValue& kv : range.items) {
    ++result.examined;
    if (!transformer.IsStale(kv.key, *kv.value)) continue;
    auto plain = transformer.FromStorage(kv.key, kv.value);
    if (!plain) return Unexpected(CannotTransform(kv.key, plain.error()));
    auto stored = transformer.ToStorage(kv.key, *plain);
    if (!stored) return Unexpected(CannotTransform(kv.key, stored.error()));
    // What somebody changed meanwhile is written the new way already.
    FLYBALL_ASSIGN(const CommitOutcome outcome,
                   CommitAndWait(inner, {kv.key, std::move(*stored),
                                         Precondition::ModRevision(kv.mod_revision), ttl_of(kv.key)}));
    if (outcome.committed) ++result.rewritten;
  }
  return result;
}

}  // namespace flyball::store
