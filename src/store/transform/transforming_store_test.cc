#include "store/transform/transforming_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/run/executor.h"
#include "store/memory/memory_store.h"
#include "store/testing/reversing_transformer.h"
#include "store/testing/store_testing.h"

namespace flyball::store {
namespace {

class TransformingStoreTest : public testing::Test {
 protected:
  TransformingStoreTest() {
    auto inner = NewMemoryStore(executor_);
    inner_ = inner.get();
    store_ = NewTransformingStore(std::move(inner), transformer_);
  }

  std::string Stored(const std::string& key) { return *(*inner_->Get(key))->value; }

  ThreadPool executor_{"test", 1};
  ReversingTransformer transformer_{"s"};
  Store* inner_ = nullptr;
  std::unique_ptr<Store> store_;
};

TEST_F(TransformingStoreTest, ValuesAreTransformedOnTheirWay) {
  ASSERT_TRUE(PutNow(*store_, "s/a", "secret"));
  ASSERT_TRUE(PutNow(*store_, "p/a", "plain"));
  EXPECT_EQ(Stored("s/a"), "enc:terces");
  EXPECT_EQ(Stored("p/a"), "plain");
  EXPECT_EQ(*(*store_->Get("s/a"))->value, "secret");
  const auto range = store_->Range("", {});
  ASSERT_TRUE(range);
  EXPECT_EQ(*range->items[0].value, "plain");
  EXPECT_EQ(*range->items[1].value, "secret");
}

TEST_F(TransformingStoreTest, WatchesSeeTheVeryBytesThatWereWritten) {
  RecordingSink sink;
  const auto watch = store_->WatchPrefix("", 0, &sink);
  const Bytes value = MakeBytes("secret");
  Transaction transaction;
  transaction.push_back({"s/a", value, {}, {}});
  ASSERT_TRUE(CommitNow(*store_, std::move(transaction)));
  const auto replaced = PutNow(*store_, "s/a", "second");
  ASSERT_TRUE(replaced);
  sink.WaitForEvents(2);
  EXPECT_EQ(sink.events()[0].kv.value, value) << "the same Bytes, not equal ones";
  EXPECT_EQ(*sink.events()[1].kv.value, "second");
  EXPECT_EQ(*sink.events()[1].previous->value, "secret");
  EXPECT_EQ(*replaced->previous[0]->value, "secret");
}

TEST_F(TransformingStoreTest, AConflictShowsThePlainValue) {
  ASSERT_TRUE(PutNow(*store_, "s/a", "secret"));
  const auto conflict = PutNow(*store_, "s/a", "other", Precondition::Absent());
  ASSERT_TRUE(conflict);
  EXPECT_FALSE(conflict->committed);
  EXPECT_EQ(*conflict->current->value, "secret");
}

TEST_F(TransformingStoreTest, AValueThatCannotBeStoredIsNotCommitted) {
  const auto put = PutNow(*store_, "s/a", "refused");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().message(), "unable to transform key \"s/a\": not this one");
  EXPECT_FALSE(*store_->Get("s/a"));
}

TEST_F(TransformingStoreTest, AValueThatCannotBeReadIsAnErrorAndMayBeReplaced) {
  ASSERT_TRUE(PutNow(*inner_, "s/a", "enc:broken"));
  const auto got = store_->Get("s/a");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message(), "unable to transform key \"s/a\": cannot be read");
  EXPECT_FALSE(store_->Range("s", {}));

  RecordingSink sink;
  const auto watch = store_->WatchPrefix("", 0, &sink);
  ASSERT_TRUE(PutNow(*store_, "s/a", "whole"));
  sink.WaitForEvents(1);
  EXPECT_EQ(*sink.events()[0].kv.value, "whole");
  EXPECT_EQ(sink.events()[0].previous->value, nullptr);

  ASSERT_TRUE(PutNow(*inner_, "s/b", "enc:broken"));
  EXPECT_TRUE(sink.WaitForError());
}

TEST_F(TransformingStoreTest, StaleValuesAreRewrittenOnce) {
  ASSERT_TRUE(PutNow(*inner_, "s/old", "old"));
  ASSERT_TRUE(PutNow(*store_, "s/new", "new"));
  ASSERT_TRUE(PutNow(*store_, "p/a", "plain"));
  EXPECT_TRUE(store_->IsStale("s/old"));
  EXPECT_FALSE(store_->IsStale("s/new"));
  EXPECT_FALSE(store_->IsStale("absent"));
  const auto forever = [](std::string_view) { return Duration(); };
  auto result = RewriteStaleValues(*inner_, transformer_, forever);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->examined, 3u);
  EXPECT_EQ(result->rewritten, 1u);
  EXPECT_EQ(Stored("s/old"), "enc:dlo");
  EXPECT_EQ(RewriteStaleValues(*inner_, transformer_, forever)->rewritten, 0u);
}

}  // namespace
}  // namespace flyball::store
