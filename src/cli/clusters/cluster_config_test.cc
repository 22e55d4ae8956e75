#include "cli/clusters/cluster_config.h"

#include <gtest/gtest.h>

#include "base/files/temporary_folder.h"

namespace flyball::cli {
namespace {

using Words = std::vector<std::string>;

Result<Words> WithFile(const std::string& text, Words words) {
  const auto folder = TemporaryFolder::Make();
  const auto path = folder->Write("cluster.yaml", text);
  words.push_back("--config=" + *path);
  auto result = WithClusterConfig(words);
  if (!result) return result;
  // Where the file was is not the same twice.
  for (std::string& word : *result)
    if (const auto at = word.find(folder->path().string()); at != std::string::npos)
      word.replace(at, folder->path().string().size(), "DIR");
  return result;
}

TEST(ClusterConfig, ItsFlagsAreThoseOfTheCommand) {
  const auto words =
      WithFile("nodes: 3\nruntime: sim\nephemeral: true\ndetach: false\napply: [a.yaml, b]\n", {"dev"});
  ASSERT_TRUE(words) << words.error().message();
  EXPECT_EQ(*words, (Words{"dev", "--config=DIR/cluster.yaml", "--nodes=3", "--runtime=sim", "--ephemeral",
                           "--apply=DIR/a.yaml", "--apply=DIR/b"}));
}

TEST(ClusterConfig, WhatIsGivenStays) {
  const auto words = WithFile("nodes: 3\n", {"--nodes", "5"});
  ASSERT_TRUE(words);
  EXPECT_EQ(words->size(), 3u);
}

TEST(ClusterConfig, RefusalsNameTheFile) {
  for (const char* text : {"just words", "nodes: {a: 1}"}) {
    const auto words = WithFile(text, {});
    ASSERT_FALSE(words) << text;
    EXPECT_NE(words.error().message().find("cluster.yaml"), std::string::npos);
  }
  EXPECT_FALSE(WithClusterConfig({"--config", "/no/such/file"}));
}

}  // namespace
}  // namespace flyball::cli
