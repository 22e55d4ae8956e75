#include "cli/data/store_copy.h"

#include <gtest/gtest.h>

#include "base/run/executor.h"
#include "store/memory/memory_store.h"
#include "store/testing/store_testing.h"

namespace flyball::cli {
namespace {

class StoreCopyTest : public testing::Test {
 protected:
  ThreadPool executor_{"test", 1};
  std::unique_ptr<store::Store> from_ = store::NewMemoryStore(executor_);
  std::unique_ptr<store::Store> to_ = store::NewMemoryStore(executor_);
};

TEST_F(StoreCopyTest, CopiesEveryObjectAndProvesIt) {
  for (int i = 0; i < 250; ++i)
    ASSERT_TRUE(
        PutNow(*from_, "/registry/configmaps/default/c" + std::to_string(i), "v" + std::to_string(i)));
  ASSERT_TRUE(PutNow(*from_, "/registry/masterleases/10.0.0.1", "x"));
  const auto copy = CopyStore(*from_, *to_);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(copy->objects, 250u);
  EXPECT_EQ(copy->checksum.size(), 64u);
  EXPECT_FALSE(copy->source_moved_on);
  EXPECT_EQ(*(*to_->Get("/registry/configmaps/default/c7"))->value, "v7");
  EXPECT_FALSE(*to_->Get("/registry/masterleases/10.0.0.1"));
  EXPECT_EQ(CopyStore(*to_, *store::NewMemoryStore(executor_))->checksum, copy->checksum);
}

TEST_F(StoreCopyTest, ATargetThatIsInUseIsLeftAlone) {
  ASSERT_TRUE(PutNow(*to_, "/registry/secrets/default/s", "mine"));
  ASSERT_TRUE(PutNow(*from_, "/registry/secrets/default/s", "yours"));
  const auto copy = CopyStore(*from_, *to_);
  ASSERT_FALSE(copy);
  EXPECT_NE(copy.error().message().find("copy into an empty store"), std::string::npos);
  EXPECT_EQ(*(*to_->Get("/registry/secrets/default/s"))->value, "mine");
}

}  // namespace
}  // namespace flyball::cli
