// Loading a resource, which takes as long as its objects are many, beside commits.
#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "server/cache/watch_cache.h"
#include "store/memory/memory_store.h"

namespace flyball::server {
namespace {

// Commits something while a range is being read: what a writer does meanwhile.
class InterruptedStore final : public store::Store {
 public:
  explicit InterruptedStore(Executor& executor) : store_(store::NewMemoryStore(executor)) {}

  std::function<void()> before_range, after_range;

  store::Revision CurrentRevision() const override { return store_->CurrentRevision(); }
  Result<std::optional<store::KeyValue>> Get(std::string_view key) const override { return store_->Get(key); }
  Result<store::RangeResult> Range(std::string_view prefix,
                                   const store::RangeOptions& options = {}) const override {
    if (before_range) before_range();
    auto range = store_->Range(prefix, options);
    if (after_range) after_range();
    return range;
  }
  Result<std::size_t> Count(std::string_view prefix) const override { return store_->Count(prefix); }
  void Commit(store::Transaction transaction,
              UniqueFunction<void(Result<store::CommitOutcome>)> done) override {
    store_->Commit(std::move(transaction), std::move(done));
  }
  std::unique_ptr<store::Watch> WatchPrefix(std::string prefix, store::Revision after,
                                            store::WatchSink* sink) override {
    return store_->WatchPrefix(std::move(prefix), after, sink);
  }
  Status Compact(store::Revision revision) override { return store_->Compact(revision); }
  store::Revision CompactedRevision() const override { return store_->CompactedRevision(); }
  Status Health() const override { return store_->Health(); }
  store::StoreStats Stats() const override { return store_->Stats(); }

  void PutMap(const std::string& name) {
    store::Transaction transaction(1);
    transaction[0].key = "/registry/configmaps/n/" + name;
    transaction[0].value = MakeBytes(R"({"metadata":{"name":")" + name + R"(","namespace":"n"}})");
    Commit(std::move(transaction), [](Result<store::CommitOutcome>) {});
  }

 private:
  std::unique_ptr<store::Store> store_;
};

// The committer used to wait until everything was loaded (here it would wait for ever).
TEST(ResourceLoadTest, CommitsGoOnWhileAResourceLoads) {
  SimExecutor sim(1);
  InterruptedStore store(sim);
  store.PutMap("there");
  WatchCache cache(store, sim);
  store.before_range = [&] { store.PutMap("before"); };
  store.after_range = [&] { store.PutMap("after"); };
  const std::shared_ptr<const api::KindInfo> kind{api::FindBuiltinKind("", "v1", "ConfigMap"),
                                                  [](const api::KindInfo*) {}};
  const auto maps = cache.AddResource("/registry/configmaps/", kind);
  ASSERT_TRUE(maps);
  EXPECT_EQ((*maps)->size(), 3u);
  EXPECT_TRUE((*maps)->Get("n/after"));
  EXPECT_EQ((*maps)->last_change(), store.CurrentRevision());
  const auto stats = (*maps)->stats();
  EXPECT_EQ(stats.objects, 3u);
  EXPECT_GT(stats.bytes, 100u);
  store.PutMap("later");
  EXPECT_EQ((*maps)->size(), 4u);
}

}  // namespace
}  // namespace flyball::server
