#include "informer/delta_queue.h"

#include <gtest/gtest.h>

#include "api/types/core.h"

namespace flyball {
namespace {

ObjectPtr Object() {
  return std::make_shared<const ConfigMap>();
}

TEST(DeltaQueueTest, ChangesComeOutInOrderAndReplaceAlone) {
  int ready = 0;
  DeltaQueue queue([&] { ++ready; });
  queue.Add("a", Object());
  queue.Update("a", Object());
  queue.Replace({{"b", Object()}}, "7");
  queue.Delete("b", Object());
  EXPECT_EQ(ready, 1);
  auto batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].type, DeltaType::kAdded);
  EXPECT_EQ(batch[1].type, DeltaType::kUpdated);
  batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].type, DeltaType::kReplaced);
  EXPECT_EQ(batch[0].resource_version, "7");
  batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].type, DeltaType::kDeleted);
  EXPECT_TRUE(queue.TakeBatch().empty());
}

TEST(DeltaQueueTest, SyncedWhenTheFirstReplaceHasBeenProcessed) {
  DeltaQueue queue(nullptr);
  queue.Replace({}, "1");
  EXPECT_FALSE(queue.synced());
  queue.TakeBatch();
  EXPECT_FALSE(queue.synced()) << "taken is not processed";
  queue.Processed();
  EXPECT_TRUE(queue.synced());
}

TEST(DeltaQueueTest, ResyncSkipsKeysThatHaveChangesWaiting) {
  DeltaQueue queue(nullptr);
  queue.Update("a", Object());
  queue.Resync({{"a", Object()}, {"b", Object()}});
  const auto batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[1].type, DeltaType::kSync);
  EXPECT_EQ(batch[1].key, "b");
}

TEST(DeltaQueueTest, BatchesAreBounded) {
  DeltaQueue queue(nullptr);
  for (int i = 0; i < 2500; ++i) queue.Add("k", Object());
  EXPECT_EQ(queue.TakeBatch().size(), DeltaQueue::kBatch);
  EXPECT_EQ(queue.TakeBatch().size(), DeltaQueue::kBatch);
  EXPECT_EQ(queue.TakeBatch().size(), 500u);
}

}  // namespace
}  // namespace flyball
