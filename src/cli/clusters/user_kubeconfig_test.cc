#include "cli/clusters/user_kubeconfig.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files/durable_file.h"
#include "base/files/temporary_folder.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

json::Value Yaml(const char* text) {
  return *json::ParseYaml(text);
}

const char* const kOwn = R"(
clusters: [{name: x, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: x, user: {token: abc}}]
contexts: [{name: x, context: {cluster: x, user: x}}]
current-context: x
)";

TEST(UserKubeconfigTest, AContextIsAddedNextToOthers) {
  json::Value config = Yaml(R"(
clusters: [{name: work, cluster: {server: "https://work"}}]
contexts: [{name: work, context: {cluster: work, user: me}}]
users: [{name: me, user: {}}]
current-context: work
preferences: {colors: true}
)");
  AddContext(config, Yaml(kOwn), "flyball-dev");
  EXPECT_EQ(std::as_const(config)["clusters"].size(), 2u);
  EXPECT_EQ(std::as_const(config)["clusters"].as_array()[1]["cluster"]["server"].string_or(""),
            "https://127.0.0.1:6443");
  EXPECT_EQ(std::as_const(config)["current-context"].string_or(""), "flyball-dev");
  EXPECT_TRUE(std::as_const(config)["preferences"]["colors"].bool_or(false));
}

TEST(UserKubeconfigTest, AContextThatIsThereKeepsItsNamespaceAndIsNotMadeCurrent) {
  json::Value config = Yaml(R"(
contexts: [{name: flyball-dev, context: {cluster: old, user: old, namespace: web}}, {name: work, context: {}}]
current-context: work
)");
  AddContext(config, Yaml(kOwn), "flyball-dev");
  const json::Value& context = std::as_const(config)["contexts"].as_array()[0]["context"];
  EXPECT_EQ(context["namespace"].string_or(""), "web");
  EXPECT_EQ(context["cluster"].string_or(""), "flyball-dev");
  EXPECT_EQ(std::as_const(config)["current-context"].string_or(""), "work");
}

TEST(UserKubeconfigTest, RemovingTakesOnlyItsOwnEntries) {
  json::Value config = Yaml("contexts: [{name: work, context: {}}]\ncurrent-context: work\n");
  const json::Value before = config;
  AddContext(config, Yaml(kOwn), "flyball-dev");
  RemoveContext(config, "flyball-dev");
  EXPECT_EQ(std::as_const(config)["contexts"], std::as_const(before)["contexts"]);
  EXPECT_EQ(std::as_const(config)["current-context"].string_or("x"), "");
  EXPECT_FALSE(UseContextNamed(config, "flyball-dev"));
}

TEST(UserKubeconfigTest, AFileThatIsNoKubeconfigIsNotReplaced) {
  const auto folder = TemporaryFolder::Make();
  ASSERT_TRUE(folder);
  const std::string path = (folder->path() / "config").string();
  std::ofstream(path) << "just text\n";
  const Status changed = ChangeKubeconfig(path, [](json::Value& config) { config["x"] = 1; });
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message().find("is no kubeconfig"), std::string::npos);
  EXPECT_EQ(*ReadFile(path), "just text\n");
}

}  // namespace
}  // namespace flyball::cli
