#include "server/cache/watch_cache.h"

#include <gtest/gtest.h>

#include "api/schema/schema.h"
#include "base/run/sim_executor.h"
#include "store/memory/memory_store.h"
#include "store/partition/partitioned_store.h"

namespace flyball::server {
namespace {

// The cache of ConfigMaps, fed by hand.
class WatchCacheTest : public testing::Test {
 protected:
  void Put(const std::string& name, std::size_t bytes = 10) {
    const std::string text = R"({"metadata":{"name":")" + name + R"(","namespace":"n"},"data":{"x":")" +
                             std::string(bytes, 'x') + "\"}}";
    store::Event event;
    event.type = store::Event::Type::kPut;
    event.kv.key = "/registry/configmaps/n/" + name;
    event.kv.value = MakeBytes(text);
    event.kv.mod_revision = ++revision_;
    cache_->Apply(event);
    published_ = revision_;
  }
  static std::size_t Count(Subscriber& subscriber) {
    std::vector<Subscriber::Item> items;
    subscriber.Take(items, nullptr);
    return items.size();
  }

  SimExecutor sim_{1};
  std::atomic<store::Revision> published_{0};
  store::Revision revision_ = 0;
  std::shared_ptr<const api::KindInfo> kind_{api::FindBuiltinKind("", "v1", "ConfigMap"),
                                             [](const api::KindInfo*) {}};
  std::shared_ptr<ResourceCache> cache_ =
      std::make_shared<ResourceCache>("/registry/configmaps/", kind_, sim_, published_);
};

TEST_F(WatchCacheTest, ASlowSubscriberIsClosedAndOthersGoOn) {
  const auto slow_watch = cache_->SubscribeNow({}), quick_watch = cache_->SubscribeNow({});
  const auto slow = slow_watch.subscriber, quick = quick_watch.subscriber;
  std::size_t seen = 0;
  for (std::size_t i = 0; i <= Subscriber::kMaxQueued; ++i) {
    Put("a");
    sim_.RunReady();
    seen += Count(*quick);
  }
  EXPECT_TRUE(slow->closed());
  EXPECT_EQ(Count(*slow), 0u);
  EXPECT_FALSE(quick->closed());
  EXPECT_EQ(seen, Subscriber::kMaxQueued + 1);
}

TEST_F(WatchCacheTest, OldChangesAreForgotten) {
  Put("a");
  const store::Revision first = revision_;
  cache_->BookmarkAll();
  sim_.RunReady();
  sim_.RunFor(std::chrono::minutes(4));
  Put("b");
  cache_->BookmarkAll();
  sim_.RunReady();
  EXPECT_TRUE(cache_->SubscribeAfter({}, first - 1)) << "four minutes old";
  sim_.RunFor(std::chrono::minutes(2));
  cache_->BookmarkAll();
  sim_.RunReady();
  EXPECT_FALSE(cache_->SubscribeAfter({}, first - 1)) << "the change of a is gone";
  EXPECT_TRUE(cache_->SubscribeAfter({}, first)) << "the change of b is not";
  EXPECT_EQ(cache_->size(), 2u);
}

TEST_F(WatchCacheTest, ASubscriberMayHaveMoreToCatchUpWithThanItMayFallBehind) {
  for (std::size_t i = 0; i < Subscriber::kMaxQueued + 10; ++i) Put("a");
  sim_.RunReady();
  auto subscription = cache_->SubscribeAfter({}, 5);
  ASSERT_TRUE(subscription);
  Put("b");
  sim_.RunReady();
  EXPECT_FALSE(subscription->subscriber->closed());
  EXPECT_EQ(Count(*subscription->subscriber), Subscriber::kMaxQueued + 6);
}

TEST_F(WatchCacheTest, LargeChangesCountByTheirBytes) {
  constexpr std::size_t kMegabyte = 1u << 20;
  const auto watch = cache_->SubscribeNow({});
  const auto slow = watch.subscriber;
  for (int i = 0; i < 100; ++i) Put("a", kMegabyte);
  sim_.RunReady();
  EXPECT_TRUE(slow->closed());
  const auto too_old = cache_->SubscribeAfter({}, 1);
  ASSERT_FALSE(too_old);
  EXPECT_TRUE(too_old.error().Is(Reason::kExpired));
  EXPECT_TRUE(cache_->SubscribeAfter({}, revision_ - 60));
}

TEST_F(WatchCacheTest, AWatchIsAcceptedOnlyIfNothingAfterItsStartIsMissing) {
  constexpr std::size_t kMegabyte = 1u << 20;
  for (int i = 0; i < 100; ++i) Put("a", kMegabyte);
  sim_.RunReady();
  store::Revision start = 0;
  while (start < revision_ && !cache_->SubscribeAfter({}, start)) ++start;
  ASSERT_GT(start, 0);
  ASSERT_LT(start, revision_);
  auto oldest = cache_->SubscribeAfter({}, start);
  std::vector<Subscriber::Item> items;
  ASSERT_TRUE(oldest->subscriber->Take(items, nullptr));
  EXPECT_EQ(items.size(), static_cast<std::size_t>(revision_ - start));
  EXPECT_EQ(items.front().change->revision, start + 1);
}

// However a watch ends, also by an exception, the cache does not go on queueing for it.
TEST_F(WatchCacheTest, ASubscriptionEndsWithItsOwner) {
  SubscriberPtr subscriber;
  try {
    const auto subscription = cache_->SubscribeNow({});
    subscriber = subscription.subscriber;
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  Put("a");
  sim_.RunReady();
  EXPECT_EQ(Count(*subscriber), 0u);
  EXPECT_EQ(subscriber.use_count(), 1);
  auto first = cache_->SubscribeNow({});
  auto second = cache_->SubscribeNow({});
  const auto replaced = first.subscriber;
  first = std::move(second);
  Put("b");
  sim_.RunReady();
  EXPECT_EQ(Count(*replaced), 0u);
  EXPECT_EQ(Count(*first.subscriber), 1u);
}

TEST_F(WatchCacheTest, AnEncodedChangeIsSharedAndCanBeForgotten) {
  auto subscription = cache_->SubscribeNow({});
  Put("a");
  sim_.RunReady();
  std::vector<Subscriber::Item> items;
  ASSERT_TRUE(subscription.subscriber->Take(items, nullptr));
  const Change& change = *items[0].change;
  int made = 0;
  const auto make = [&] { return MakeBytes("event " + std::to_string(++made)); };
  const Bytes first = change.Encoded({"v1", 1}, make);
  EXPECT_EQ(change.Encoded({"v1", 1}, make), first);
  EXPECT_NE(change.Encoded({"v1", 2}, make), first);  // another form
  EXPECT_NE(change.Encoded({"v2", 1}, make), first);  // another version
  change.ForgetEncoded();
  EXPECT_EQ(*change.Encoded({"v1", 1}, make), "event 4");
}

TEST_F(WatchCacheTest, AnEncodingThatShowsAgesIsMadeAgainInAnotherSecond) {
  const Change change(nullptr, nullptr, 1);
  int made = 0;
  const auto make = [&] { return MakeBytes(std::to_string(++made)); };
  EXPECT_EQ(*change.Encoded({"v1", 1, 10}, make), "1");
  EXPECT_EQ(*change.Encoded({"v1", 1, 10}, make), "1");
  EXPECT_EQ(*change.Encoded({"v1", 1, 11}, make), "2");
}

// A store whose watch can be ended, as by a compaction that overtakes it.
class EndableStore final : public store::Store {
 public:
  explicit EndableStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}
  void EndWatch() {
    watching_ = false;
    sink_->OnError(Error(Reason::kExpired, "compacted"));
  }

  store::Revision CurrentRevision() const override { return inner_->CurrentRevision(); }
  Result<std::optional<store::KeyValue>> Get(std::string_view key) const override { return inner_->Get(key); }
  Result<store::RangeResult> Range(std::string_view prefix, const store::RangeOptions& o) const override {
    if (prefix == unreadable) return Unexpected(Error(Reason::kServiceUnavailable, "no key"));
    return inner_->Range(prefix, o);
  }
  Result<std::size_t> Count(std::string_view prefix) const override { return inner_->Count(prefix); }
  void Commit(store::Transaction t, UniqueFunction<void(Result<store::CommitOutcome>)> done) override {
    inner_->Commit(std::move(t), std::move(done));
  }
  std::unique_ptr<store::Watch> WatchPrefix(std::string prefix, store::Revision after,
                                            store::WatchSink* sink) override {
    sink_ = sink;
    watching_ = true;
    return inner_->WatchPrefix(std::move(prefix), after, &gate_);
  }
  Status Compact(store::Revision revision) override { return inner_->Compact(revision); }
  store::Revision CompactedRevision() const override { return inner_->CompactedRevision(); }
  Status Health() const override { return inner_->Health(); }
  store::StoreStats Stats() const override { return inner_->Stats(); }

  std::string unreadable;  // a prefix whose values cannot be decrypted

 private:
  // Passes on while the watch has not been ended.
  struct Gate final : store::WatchSink {
    explicit Gate(EndableStore& store) : owner(store) {}
    void OnEvents(const std::vector<store::Event>& events) override {
      if (owner.watching_) owner.sink_->OnEvents(events);
    }
    void OnProgress(store::Revision revision) override {
      if (owner.watching_) owner.sink_->OnProgress(revision);
    }
    void OnError(const Error&) override {}
    EndableStore& owner;
  };
  const std::unique_ptr<store::Store> inner_;
  store::WatchSink* sink_ = nullptr;
  bool watching_ = false;
  Gate gate_{*this};
};

constexpr char kMaps[] = "/registry/configmaps/";

std::shared_ptr<const api::KindInfo> KindOf(const char* kind) {
  return {api::FindBuiltinKind("", "v1", kind), [](const api::KindInfo*) {}};
}

// A null value deletes.
void CommitTo(store::Store& store, const std::string& prefix, const std::string& name, const char* value) {
  store::Transaction transaction(1);
  transaction[0].key = prefix + "n/" + name;
  if (value)
    transaction[0].value =
        MakeBytes(R"({"metadata":{"name":")" + name + R"(","namespace":"n"},"data":{"x":")" + value + "\"}}");
  store.Commit(std::move(transaction), [](Result<store::CommitOutcome>) {});
}

TEST(WatchCacheResumeTest, AWatchThatEndedIsMadeUpFor) {
  SimExecutor sim(1);
  EndableStore store(store::NewMemoryStore(sim));
  const auto commit = [&](const std::string& name, const char* value) {
    CommitTo(store, kMaps, name, value);
  };
  commit("kept", "1");
  commit("changed", "1");
  commit("deleted", "1");
  WatchCache cache(store, sim);
  const auto maps = *cache.AddResource(kMaps, KindOf("ConfigMap"));
  auto watch = maps->SubscribeNow({});
  store.EndWatch();
  commit("changed", "2");
  commit("deleted", nullptr);
  commit("new", "1");
  EXPECT_FALSE(maps->Get("n/new"));
  sim.RunFor(std::chrono::milliseconds(1));
  EXPECT_TRUE(maps->Get("n/new"));
  EXPECT_TRUE(maps->Get("n/kept"));
  EXPECT_FALSE(maps->Get("n/deleted"));
  std::vector<Subscriber::Item> items;
  ASSERT_TRUE(watch.subscriber->Take(items, nullptr));
  EXPECT_EQ(items.size(), 3u);
  EXPECT_EQ(maps->revision(), store.CurrentRevision());
  commit("later", "1");
  sim.RunReady();
  EXPECT_TRUE(maps->Get("n/later"));
}

TEST(WatchCacheUnreadableTest, ObjectsWhoseKeyIsMissingAreReadOnceItIsThere) {
  SimExecutor sim(1);
  EndableStore store(store::NewMemoryStore(sim));
  CommitTo(store, kMaps, "old", "1");
  store.unreadable = kMaps;
  WatchCache cache(store, sim);
  const auto added = cache.AddResource(kMaps, KindOf("ConfigMap"));
  ASSERT_TRUE(added) << added.error().message();
  const auto& maps = *added;
  ASSERT_FALSE(maps->readable());
  EXPECT_EQ(maps->readable().error().message(), "no key");
  CommitTo(store, kMaps, "new", "1");
  sim.RunFor(std::chrono::seconds(30));
  EXPECT_FALSE(maps->readable());
  store.unreadable.clear();
  sim.RunFor(std::chrono::seconds(10));
  EXPECT_TRUE(maps->readable());
  EXPECT_TRUE(maps->Get("n/old"));
  EXPECT_TRUE(maps->Get("n/new"));
  CommitTo(store, kMaps, "later", "1");
  EXPECT_TRUE(maps->Get("n/later"));
}

TEST(WatchCacheUnreadableTest, OtherResourcesGoOnWhenTheWatchIsMadeAgain) {
  SimExecutor sim(1);
  EndableStore store(store::NewMemoryStore(sim));
  WatchCache cache(store, sim);
  const std::string secrets_prefix = "/registry/secrets/";
  const auto maps = *cache.AddResource(kMaps, KindOf("ConfigMap"));
  const auto secrets = *cache.AddResource(secrets_prefix, KindOf("Secret"));
  auto watch = secrets->SubscribeNow({});
  store.unreadable = secrets_prefix;
  store.EndWatch();
  CommitTo(store, kMaps, "missed", "1");
  CommitTo(store, secrets_prefix, "missed", "1");
  sim.RunFor(std::chrono::seconds(1));
  EXPECT_TRUE(maps->readable());
  EXPECT_TRUE(maps->Get("n/missed"));
  EXPECT_FALSE(secrets->readable());
  store.unreadable.clear();
  sim.RunFor(std::chrono::seconds(10));
  EXPECT_TRUE(secrets->readable());
  std::vector<Subscriber::Item> items;
  ASSERT_TRUE(watch.subscriber->Take(items, nullptr));
  EXPECT_EQ(items.size(), 1u) << "watchers are told what they have missed";
}

TEST(WatchCachePartsTest, EachPartOfTheStoreHasRevisionsOfItsOwn) {
  SimExecutor sim(1);
  std::vector<store::StorePart> parts;
  parts.push_back({{kMaps}, store::NewMemoryStore(sim)});
  const auto store = store::NewPartitionedStore(store::NewMemoryStore(sim), std::move(parts));
  WatchCache cache(*store, sim);
  const auto maps = *cache.AddResource(kMaps, KindOf("ConfigMap"));
  const auto secrets = *cache.AddResource("/registry/secrets/", KindOf("Secret"));
  for (const char* name : {"a", "b", "c"}) CommitTo(*store, kMaps, name, "1");
  CommitTo(*store, "/registry/secrets/", "s", "1");
  EXPECT_EQ(maps->List({}).objects.size(), 3u);
  EXPECT_EQ(maps->List({}).revision, store->PartOf(kMaps).CurrentRevision());
  EXPECT_EQ(secrets->List({}).revision, store->CurrentRevision());
  EXPECT_NE(maps->revision(), secrets->revision());
}

// Events are many: whether they come from a request, from another server or from the store's file, the cache
// keeps them packed.
TEST_F(WatchCacheTest, EventsAreKeptPacked) {
  const std::shared_ptr<const api::KindInfo> kind(api::FindBuiltinKind("", "v1", "Event"),
                                                  [](const api::KindInfo*) {});
  const auto cache = std::make_shared<ResourceCache>("/registry/events/", kind, sim_, published_);
  const auto text = [](const std::string& name) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"n"},"reason":"Pulled"})";
  };
  auto loaded = cache->Build(MakeBytes(text("loaded")), 1);
  ASSERT_TRUE(loaded);
  cache->Load({*loaded}, 1);
  const auto apply = [&](const std::string& name, Bytes bytes) {
    store::Event event;
    event.kv.key = "/registry/events/n/" + name;
    event.kv.value = std::move(bytes);
    event.kv.mod_revision = ++revision_ + 1;
    cache->Apply(event);
  };
  apply("other", MakeBytes(text("other")));
  auto own = StoredObject::Build(MakeBytes(text("own")), 0, *kind);
  ASSERT_TRUE(own);
  const Bytes bytes = (*own)->bytes();
  const auto expectation = cache->Expect(*own);
  apply("own", bytes);
  for (const char* name : {"loaded", "other", "own"}) {
    const auto object = cache->Get(std::string("n/") + name);
    ASSERT_TRUE(object) << name;
    EXPECT_TRUE(object->packed()) << name;
    EXPECT_EQ(*object->bytes(), text(name));
  }
  Put("configmap");
  EXPECT_FALSE(cache_->Get("n/configmap")->packed());
}

}  // namespace
}  // namespace flyball::server
