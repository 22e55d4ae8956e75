#include "store/partition/partitioned_store.h"

#include <gtest/gtest.h>

#include "base/run/executor.h"
#include "store/memory/memory_store.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

class PartitionedStoreTest : public testing::Test {
 protected:
  PartitionedStoreTest() {
    auto rest = NewMemoryStore(executor_);
    auto events = NewMemoryStore(executor_);
    rest_ = rest.get();
    events_ = events.get();
    std::vector<StorePart> parts;
    parts.push_back({{"/registry/events/", "/registry/leases/"}, std::move(events)});
    store_ = NewPartitionedStore(std::move(rest), std::move(parts));
  }

  ThreadPool executor_{"test", 1};
  Store *rest_ = nullptr, *events_ = nullptr;
  std::unique_ptr<Store> store_;
};

TEST_F(PartitionedStoreTest, AKeyIsInTheStoreOfItsPrefixOnly) {
  ASSERT_TRUE(PutNow(*store_, "/registry/events/a", "event"));
  ASSERT_TRUE(PutNow(*store_, "/registry/leases/a", "lease"));
  ASSERT_TRUE(PutNow(*store_, "/registry/pods/a", "pod"));
  EXPECT_EQ(*events_->Count("/registry/"), 2u);
  EXPECT_EQ(*rest_->Count("/registry/"), 1u);
  EXPECT_EQ(*(*store_->Get("/registry/events/a"))->value, "event");
  EXPECT_EQ(store_->Range("/registry/leases/")->items.size(), 1u);
  EXPECT_EQ(store_->Range("/registry/")->items.front().key, "/registry/pods/a");
  EXPECT_EQ(&store_->PartOf("/registry/leases/"), events_);
  EXPECT_EQ(&store_->PartOf("/registry/eventsources/"), rest_);
}

TEST_F(PartitionedStoreTest, PartsHaveRevisionsOfTheirOwn) {
  const Revision before = store_->CurrentRevision();
  const auto put = PutNow(*store_, "/registry/events/a", "event");
  EXPECT_EQ(store_->CurrentRevision(), before);
  EXPECT_EQ(store_->PartOf("/registry/events/").CurrentRevision(), put->revision);
}

TEST_F(PartitionedStoreTest, WatchesFollowTheirPart) {
  RecordingSink sink;
  const auto watch = store_->WatchPrefix("/registry/events/", 0, &sink);
  ASSERT_TRUE(PutNow(*store_, "/registry/pods/a", "pod"));
  ASSERT_TRUE(PutNow(*store_, "/registry/events/a", "event"));
  sink.WaitForEvents(1);
  EXPECT_EQ(sink.events()[0].kv.key, "/registry/events/a");
}

TEST_F(PartitionedStoreTest, ATransactionAcrossPartsWritesNothing) {
  Transaction transaction;
  transaction.push_back(Put("/registry/events/a", "event"));
  transaction.push_back(Put("/registry/pods/a", "pod"));
  const auto outcome = CommitNow(*store_, std::move(transaction));
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message().find("different stores"), std::string::npos);
  EXPECT_EQ(*events_->Count("/registry/"), 0u);
  EXPECT_EQ(*rest_->Count("/registry/"), 0u);
}

TEST_F(PartitionedStoreTest, CatchUpWaitsForAllParts) {
  bool done = false;
  store_->CatchUp([&](Status status) { done = status.has_value(); });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace flyball::store
