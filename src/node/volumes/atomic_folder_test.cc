#include "node/volumes/atomic_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "base/files/temporary_folder.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFolderTest, ChangesAllFilesAtOnceAndOnlyIfTheyDiffer) {
  const TemporaryFolder folder = *TemporaryFolder::Make();
  const std::string path = folder.path();
  ASSERT_TRUE(WriteAtomically(path, {{"a", {"1"}}, {"sub/b", {"2", 0400}}}, std::nullopt));
  EXPECT_EQ(*ReadFile(path + "/a"), "1");
  EXPECT_EQ(*ReadFile(path + "/sub/b"), "2");
  EXPECT_EQ(fs::read_symlink(path + "/a"), "..data/a");
  struct stat info {};
  ASSERT_EQ(stat((path + "/sub/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0400u);
  const fs::path first = fs::read_symlink(path + "/..data");
  ASSERT_TRUE(WriteAtomically(path, {{"a", {"1"}}, {"sub/b", {"2", 0400}}}, std::nullopt));
  EXPECT_EQ(fs::read_symlink(path + "/..data"), first);
  ASSERT_TRUE(WriteAtomically(path, {{"a", {"changed"}}, {"c", {"3"}}}, std::nullopt));
  EXPECT_EQ(*ReadFile(path + "/a"), "changed");
  EXPECT_EQ(*ReadFile(path + "/c"), "3");
  EXPECT_FALSE(fs::exists(path + "/sub"));
  EXPECT_FALSE(fs::exists(path / first)) << "what was before is removed";
}

TEST(AtomicFolderTest, PathsThatLeadOutAreRefused) {
  const TemporaryFolder folder = *TemporaryFolder::Make();
  fs::create_directory(folder.path() / "volume");
  EXPECT_FALSE(WriteAtomically(folder.path() / "volume", {{"../out", {"x"}}}, std::nullopt));
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
}

}  // namespace
}  // namespace flyball::node
