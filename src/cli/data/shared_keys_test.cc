#include "cli/data/shared_keys.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "base/run/executor.h"
#include "store/memory/memory_store.h"
#include "store/testing/store_testing.h"

namespace flyball::cli {
namespace {

class SharedKeysTest : public testing::Test {
 protected:
  std::string Folder(const std::string& name, const std::string& authority) {
    const std::string folder = root_ / name;
    std::filesystem::create_directories(folder + "/pki");
    if (authority.empty()) return folder;
    for (const char* file : {"ca.crt", "ca.key", "sa.key", "serving.key"})
      EXPECT_TRUE(WriteFileDurably(folder + "/pki/" + file, authority + file));
    return folder;
  }

  store::TempFolder root_;
  ThreadPool executor_{"test", 1};
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(executor_);
};

TEST_F(SharedKeysTest, WhoJoinsGetsTheAuthoritiesAndNothingElse) {
  const std::string first = Folder("first", "a "), second = Folder("second", "");
  ASSERT_TRUE(CheckSharedKeys(*store_, first));
  ASSERT_TRUE(PublishSharedKeys(*store_, first));
  const Status joined = FetchSharedKeys(*store_, second, *OwnJoinKey(first) + "\n");
  ASSERT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(*ReadFile(second + "/pki/ca.key"), "a ca.key");
  EXPECT_FALSE(std::filesystem::exists(second + "/pki/serving.key"));
  EXPECT_EQ(*OwnJoinKey(second), *OwnJoinKey(first));
  EXPECT_TRUE(CheckSharedKeys(*store_, second)) << "it starts again without --join";
}

TEST_F(SharedKeysTest, NothingReadableIsStored) {
  ASSERT_TRUE(PublishSharedKeys(*store_, Folder("first", "authority ")));
  EXPECT_EQ((*store_->Get(kSharedKeysKey))->value->find("authority"), std::string::npos);
}

TEST_F(SharedKeysTest, AnotherClusterIsRefused) {
  const std::string first = Folder("first", "a "), other = Folder("other", "b ");
  ASSERT_TRUE(PublishSharedKeys(*store_, first));
  for (const Status& refused : {CheckSharedKeys(*store_, other), PublishSharedKeys(*store_, other)}) {
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("another cluster"), std::string::npos);
  }
  ASSERT_FALSE(FetchSharedKeys(*store_, other, *OwnJoinKey(first))) << "it has other keys already";
  EXPECT_EQ(*ReadFile(other + "/pki/ca.key"), "b ca.key");
}

TEST_F(SharedKeysTest, WrongJoinKeysAreRefused) {
  const std::string first = Folder("first", "a "), second = Folder("second", "");
  EXPECT_TRUE(FetchSharedKeys(*store_, second, std::string(64, 'a')).error().Is(Reason::kNotFound));
  ASSERT_TRUE(PublishSharedKeys(*store_, first));
  EXPECT_FALSE(FetchSharedKeys(*store_, second, std::string(64, 'a')));
  EXPECT_FALSE(FetchSharedKeys(*store_, second, ""));
  EXPECT_FALSE(std::filesystem::exists(second + "/pki/ca.key"));
}

}  // namespace
}  // namespace flyball::cli
