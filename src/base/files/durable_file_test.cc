#include "base/files/durable_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace flyball {
namespace {

class DurableFileTest : public testing::Test {
 protected:
  DurableFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "flyball-files-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~DurableFileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  std::string folder_;
};

TEST_F(DurableFileTest, ReplacesTheContentAndLeavesNoTemporaryFile) {
  const std::string path = Path("ca.key");
  ASSERT_TRUE(WriteFileDurably(path, "first"));
  ASSERT_TRUE(WriteFileDurably(path, "second"));
  EXPECT_EQ(*ReadFile(path), "second");
  EXPECT_EQ(ModeOf(path), kPrivateFileMode);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(DurableFileTest, ALeftoverOfACutOffAttemptDoesNotWidenTheMode) {
  const std::string path = Path("ca.key");
  ASSERT_TRUE(WriteFileDurably(path + ".tmp", "half", 0644));
  ASSERT_TRUE(WriteFileDurably(path, "whole"));
  EXPECT_EQ(ModeOf(path), kPrivateFileMode);
  EXPECT_EQ(*ReadFile(path), "whole");
}

TEST_F(DurableFileTest, ASymbolicLinkStays) {
  ASSERT_TRUE(WriteFileDurably(Path("target"), "old"));
  std::filesystem::create_symlink(Path("target"), Path("link"));
  ASSERT_TRUE(WriteFileDurably(Path("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFile(Path("target")), "new");
}

TEST_F(DurableFileTest, AFailedWriteKeepsTheOldFile) {
  const std::string path = Path("folder");
  ASSERT_TRUE(MakePrivateFolder(path));  // a folder cannot be replaced by a file
  const Status written = WriteFileDurably(path, "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find(path), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_directory(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(DurableFileTest, FoldersAreForTheirOwnerAlone) {
  ASSERT_TRUE(MakePrivateFolder(Path("a/b")));
  EXPECT_EQ(ModeOf(Path("a/b")), 0700u);
  ASSERT_TRUE(MakePrivateFolder(Path("a/b")));
}

TEST_F(DurableFileTest, ReadingNamesTheFile) {
  const auto read = ReadFile(Path("absent"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find(Path("absent") + ": No such file"), std::string::npos);
}

}  // namespace
}  // namespace flyball
