#include "cli/data/data_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "store/testing/store_testing.h"

namespace flyball::cli {
namespace {

class DataFolderTest : public testing::Test {
 protected:
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  void Write(const std::string& name, const std::string& text) {
    const std::string path = data_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(WriteFileDurably(path, text));
  }

  store::TempFolder folder_;
  const std::string data_ = folder_ / "data";
};

TEST_F(DataFolderTest, ANewOneIsForItsOwnerAlone) {
  ASSERT_TRUE(PrepareDataFolder(data_));
  EXPECT_EQ(ModeOf(data_), 0700u);
}

TEST_F(DataFolderTest, AnExistingOneIsTightenedOnlyIfItIsSurelyOurs) {
  std::filesystem::create_directory(data_);
  ASSERT_EQ(chmod(data_.c_str(), 0755), 0);
  ASSERT_TRUE(PrepareDataFolder(data_));
  EXPECT_EQ(ModeOf(data_), 0755u) << "it may be anybody's";
  Write("flyball.db", "a database");
  ASSERT_TRUE(PrepareDataFolder(data_));
  EXPECT_EQ(ModeOf(data_), 0700u);
}

// Hole: certificates without their database began an empty cluster without a word.
TEST_F(DataFolderTest, CertificatesWithoutADatabaseAreRefused) {
  Write("pki/ca.key", "key");
  const Status missing = PrepareDataFolder(data_);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("flyball store init"), std::string::npos);
  Write("flyball.db", "");
  EXPECT_FALSE(PrepareDataFolder(data_)) << "an empty file is no database";
  Write("flyball.db", "a database");
  EXPECT_TRUE(PrepareDataFolder(data_));
}

TEST_F(DataFolderTest, KeyFilesGoIntoASnapshotAndBack) {
  Write("pki/ca.key", "key");
  Write("pki/deeper/x.crt", "certificate");
  Write("pki/ca.crt.tmp", "half");
  Write("kubeconfig", "elsewhere");
  const auto files = CollectKeyFiles(data_);
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_EQ(files->size(), 2u);
  const std::string restored = folder_ / "restored";
  ASSERT_TRUE(RestoreKeyFiles(restored, *files));
  EXPECT_EQ(*ReadFile(restored + "/pki/ca.key"), "key");
  EXPECT_EQ(*ReadFile(restored + "/pki/deeper/x.crt"), "certificate");
  EXPECT_EQ(ModeOf(restored + "/pki/ca.key"), 0600u);
  EXPECT_EQ(ModeOf(restored + "/pki"), 0700u);
  EXPECT_TRUE(RestoreKeyFiles(restored, *files)) << "the same again changes nothing";
  EXPECT_TRUE(CollectKeyFiles(folder_ / "nothing")->empty());
}

TEST_F(DataFolderTest, RestoringReplacesNothingElse) {
  Write("pki/ca.key", "another");
  const Status restored = RestoreKeyFiles(data_, {{"pki/new.key", "x"}, {"pki/ca.key", "key"}});
  ASSERT_FALSE(restored);
  EXPECT_TRUE(restored.error().Is(Reason::kAlreadyExists));
  EXPECT_EQ(*ReadFile(data_ + "/pki/ca.key"), "another");
  EXPECT_FALSE(std::filesystem::exists(data_ + "/pki/new.key")) << "all or nothing";
}

TEST_F(DataFolderTest, NamesThatLeadOutOfTheFolderAreRefused) {
  for (const char* name :
       {"../x", "pki/../../x", "/etc/x", "pki/..", "pki//x", "pki/./x", "x", "kubeconfig", ""}) {
    EXPECT_FALSE(RestoreKeyFiles(data_, {{name, "x"}})) << name;
    EXPECT_FALSE(std::filesystem::exists(data_)) << name;
  }
}

}  // namespace
}  // namespace flyball::cli
