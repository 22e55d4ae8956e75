#include "cli/envtest/envtest_settings.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/temporary_folder.h"
#include "cli/envtest/store_location.h"

namespace flyball::cli {
namespace {

TEST(EnvtestSettingsTest, IsAListOfKnownWords) {
  EXPECT_FALSE(ParseEnvtestSettings("")->controllers);
  EXPECT_TRUE(ParseEnvtestSettings("controllers")->controllers);
  EXPECT_TRUE(ParseEnvtestSettings("keep,controllers")->keep);
  const auto unknown = ParseEnvtestSettings("controllers,sheduler");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(), "FLYBALL_ENVTEST: \"sheduler\" is neither controllers nor keep");
}

TEST(EnvtestSettingsTest, RemovesOnlyFoldersThatEnvtestMade) {
  const auto root = TemporaryFolder::Make();
  ASSERT_TRUE(root);
  const auto theirs = root->path() / "k8s_test_framework_123", other = root->path() / "precious";
  for (const auto& path : {theirs, other}) {
    ASSERT_TRUE(root->Write(path.filename() / "file", "x"));
    RemoveEnvtestFolder(path.string());
  }
  EXPECT_FALSE(std::filesystem::exists(theirs));
  EXPECT_TRUE(std::filesystem::exists(other / "file"));
  // A slash at the end leaves no name: nothing is removed by mistake.
  RemoveEnvtestFolder(root->path().string() + "/");
  EXPECT_TRUE(std::filesystem::exists(root->path()));
}

TEST(StoreLocationTest, PrefixesAreFoldersOfTheirOwn) {
  const StoreLocation location{"/d", true};
  EXPECT_EQ(DataFolderOf(location, "/registry"), "/d/flyball/registry");
  EXPECT_EQ(DataFolderOf(location, "/a/../b"), "/d/flyball/a----b");
  EXPECT_EQ(DataFolderOf(location, "/"), "/d/flyball/root");
}

TEST(StoreLocationTest, NeedsAServerThatAnswers) {
  EXPECT_EQ(AskStoreLocation("").error().message(), "--etcd-servers must be specified");
  EXPECT_FALSE(AskStoreLocation("http://127.0.0.1:1"));
}

}  // namespace
}  // namespace flyball::cli
