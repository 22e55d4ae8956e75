#include "store/partition/partitioned_store.h"

#include <algorithm>
#include <utility>

#include "base/run/mutex.h"

namespace flyball::store {
namespace {

using StatusDone = UniqueFunction<void(Status)>;

// Calls `done` with the first error, or success, once all of `count` have reported. Thread-safe.
class AllReported {
 public:
  AllReported(std::size_t count, StatusDone done) : left_(count), done_(std::move(done)) {}

  void Report(Status status) {
    {
      MutexLock lock(mu_);
      if (status_ && !status) status_ = std::move(status);
      if (--left_ > 0) return;
    }
    done_(status_);
  }

 private:
  Mutex mu_;
  std::size_t left_ FLYBALL_GUARDED_BY(mu_);
  Status status_;
  StatusDone done_;
};

class PartitionedStore final : public Store {
 public:
  PartitionedStore(std::unique_ptr<Store> rest, std::vector<StorePart> parts)
      : rest_(std::move(rest)), parts_(std::move(parts)) {}

  Store& PartOf(std::string_view prefix) override { return Find(prefix); }

  Revision CurrentRevision() const override { return rest_->CurrentRevision(); }
  Result<std::optional<KeyValue>> Get(std::string_view key) const override { return Find(key).Get(key); }
  Result<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override {
    return Find(prefix).Range(prefix, options);
  }
  Result<std::size_t> Count(std::string_view prefix) const override { return Find(prefix).Count(prefix); }

  void Commit(Transaction transaction, UniqueFunction<void(Result<CommitOutcome>)> done) override {
    if (transaction.empty()) return rest_->Commit(std::move(transaction), std::move(done));
    Store& part = Find(transaction.front().key);
    const auto elsewhere = std::find_if(transaction.begin(), transaction.end(),
                                        [&](const Operation& o) { return &Find(o.key) != &part; });
    if (elsewhere == transaction.end()) return part.Commit(std::move(transaction), std::move(done));
    done(Unexpected(InternalError("a transaction cannot write both " + transaction.front().key + " and " +
                                  elsewhere->key + ": they are in different stores")));
  }
  std::unique_ptr<Watch> WatchPrefix(std::string prefix, Revision after, WatchSink* sink) override {
    Store& part = Find(prefix);
    return part.WatchPrefix(std::move(prefix), after, sink);
  }

  bool shared() const override {
    return rest_->shared() ||
           std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.store->shared(); });
  }
  void CatchUp(StatusDone done) override {
    const auto all = std::make_shared<AllReported>(parts_.size() + 1, std::move(done));
    const auto report = [all](Status status) { all->Report(std::move(status)); };
    for (const StorePart& part : parts_) part.store->CatchUp(report);
    rest_->CatchUp(report);
  }
  bool IsStale(std::string_view key) const override { return Find(key).IsStale(key); }

  Status Compact(Revision revision) override { return rest_->Compact(revision); }
  Revision CompactedRevision() const override { return rest_->CompactedRevision(); }

  Status Health() const override { return rest_->Health(); }
  StoreStats Stats() const override {
    StoreStats all = rest_->Stats();
    for (const StorePart& part : parts_) {
      const StoreStats one = part.store->Stats();
      all.keys += one.keys;
      all.bytes_on_disk += one.bytes_on_disk;
      all.bytes_in_use += one.bytes_in_use;
      all.no_space |= one.no_space;
      all.commits += one.commits;
      all.syncs += one.syncs;
    }
    return all;
  }

 private:
  Store& Find(std::string_view key) const {
    for (const StorePart& part : parts_)
      for (const std::string& prefix : part.prefixes)
        if (key.starts_with(prefix)) return *part.store;
    return *rest_;
  }

  const std::unique_ptr<Store> rest_;
  const std::vector<StorePart> parts_;
};

}  // namespace

std::unique_ptr<Store> NewPartitionedStore(std::unique_ptr<Store> rest, std::vector<StorePart> parts) {
  return std::make_unique<PartitionedStore>(std::move(rest), std::move(parts));
}

}  // namespace flyball::store
