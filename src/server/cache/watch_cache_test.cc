#include "server/cache/watch_cache.h"

#include <gtest/gtest.h>

#include "api/schema/schema.h"
#include "base/run/sim_executor.h"

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

}  // namespace
}  // namespace flyball::server
