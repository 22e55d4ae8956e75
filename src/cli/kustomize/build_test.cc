#include "cli/kustomize/build.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/files/temporary_folder.h"
#include "cli/kustomize/resource/resource_text.h"
#include "cli/kustomize/transform/generator.h"
#include "json/json.h"

namespace flyball::cli::kustomize {
namespace {

constexpr const char* kConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";

// A folder with a kustomization `in`, and what it builds to; the replay of kubectl's own output is in
// tests/kustomize_test.py.
class BuildTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_->path() / name).parent_path());
    ASSERT_TRUE(folder_->Write(name, text));
  }

  std::string Build(const BuildOptions& options = {}) {
    std::ostringstream warnings;
    auto built = BuildKustomization((folder_->path() / "in").string(), options, warnings);
    return built ? WriteResources(*built) : "error: " + built.error().message();
  }

  Result<TemporaryFolder> folder_ = TemporaryFolder::Make();
};

TEST_F(BuildTest, RefusesWhatIsRemote) {
  for (const char* remote :
       {"https://example.com/a.yaml", "github.com/a/b", "git@example.com:a/b", "git::x"}) {
    Write("in/kustomization.yaml", std::string("resources: [\"") + remote + "\"]\n");
    EXPECT_NE(Build().find("remote resources are not supported: '" + std::string(remote) + "'"),
              std::string::npos)
        << remote;
  }
}

TEST_F(BuildTest, RefusesFieldsItDoesNotSupport) {
  for (const char* field : {"generators: [a.yaml]", "transformers: [a.yaml]", "validators: [a.yaml]",
                            "helmCharts: [{name: a}]", "openapi: {path: a.json}"}) {
    Write("in/kustomization.yaml", field + std::string("\n"));
    const std::string name = std::string(field).substr(0, std::string(field).find(':'));
    EXPECT_TRUE(Build().starts_with("error: the field '" + name + "' of ")) << Build();
    EXPECT_TRUE(Build().ends_with("kustomization.yaml is not supported")) << Build();
  }
}

TEST_F(BuildTest, ReadsFilesElsewhereOnlyIfAllowed) {
  Write("in/kustomization.yaml", "resources: [../x.yaml]\n");
  Write("x.yaml", kConfigMap);
  EXPECT_NE(Build().find("security; file"), std::string::npos);
  EXPECT_EQ(Build({.files_anywhere = true}), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n");
}

TEST_F(BuildTest, FollowsLinksBeforeItLooksWhereAFileIs) {
  Write("in/kustomization.yaml", "resources: [link.yaml]\n");
  Write("x.yaml", kConfigMap);
  std::filesystem::create_symlink("../x.yaml", folder_->path() / "in/link.yaml");
  EXPECT_NE(Build().find("security; file"), std::string::npos);
}

TEST_F(BuildTest, RefusesYamlWithinTextAsReplacementTarget) {
  Write("in/kustomization.yaml",
        "resources: [x.yaml]\nreplacements:\n- source: {kind: ConfigMap}\n  targets:\n"
        "  - {select: {kind: ConfigMap}, fieldPaths: [data.text.a]}\n");
  Write("in/x.yaml", std::string(kConfigMap) + "data: {text: \"a: b\"}\n");
  EXPECT_EQ(Build(), "error: replacements within YAML text are not supported: only JSON text can be changed");
}

TEST(ContentHashTest, DependsOnKindAndContentAlone) {
  const auto hash = [](const char* object) { return ContentHash(*json::Parse(object)); };
  const std::string simple = hash(R"({"kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"}})");
  EXPECT_EQ(simple, "4h2mbtbbt6");
  EXPECT_EQ(simple,
            hash(R"({"kind":"ConfigMap","metadata":{"name":"y"},"data":{"a":"b"},"immutable":true})"));
  EXPECT_NE(simple, hash(R"({"kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"c"}})"));
  EXPECT_NE(simple, hash(R"({"kind":"ConfigMap","data":{"a":"b"},"binaryData":{"c":"ZA=="}})"));
  EXPECT_NE(simple, hash(R"({"kind":"Secret","metadata":{"name":"x"},"data":{"a":"b"}})"));
}

}  // namespace
}  // namespace flyball::cli::kustomize
