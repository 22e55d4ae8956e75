#include "node/images/image_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "base/files/temporary_folder.h"
#include "json/json.h"
#include "node/images/image_archive.h"
#include "node/images/image_builder.h"
#include "node/testing/tar_maker.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

std::string ConfigOf(const std::string& layer, const std::string& architecture = {}) {
  return json::Write(
      json::Object{{"architecture", architecture.empty() ? std::string(MachineArchitecture()) : architecture},
                   {"os", "linux"},
                   {"config", json::Object{{"Cmd", json::Array{"/hello"}}, {"Env", json::Array{"A=1"}}}},
                   {"rootfs", json::Object{{"diff_ids", json::Array{DigestOf(layer)}}}}});
}

class ImageStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "unpacking layers needs root";
    store_ = std::make_unique<ImageStore>(*ImageStore::Open(At("images"), {.max_bytes = 1 << 24}));
  }
  std::string At(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string Save(const std::string& bytes) const { return *folder_.Write("image.tar", bytes); }
  Result<std::vector<std::string>> Load(const std::string& bytes) {
    return LoadImageArchive(*store_, Save(bytes));
  }
  std::string Refused(const std::string& bytes) {
    const auto loaded = Load(bytes);
    EXPECT_TRUE(store_->blobs().List().empty()) << "something was left behind";
    EXPECT_TRUE(fs::is_empty(At("images/layers"))) << "something was left behind";
    EXPECT_TRUE(fs::is_empty(At("images/incoming"))) << "something was left behind";
    return loaded ? "loaded" : loaded.error().message();
  }
  // As `docker save` writes it.
  static std::string Docker(const std::string& config, const std::string& layer,
                            const std::string& tag = "hello:1") {
    const std::string manifest = json::Write(json::Array{json::Object{
        {"Config", "config.json"}, {"RepoTags", json::Array{tag}}, {"Layers", json::Array{"a/layer.tar"}}}});
    return TarMaker()
        .File("a/layer.tar", layer)
        .File("config.json", config)
        .File("manifest.json", manifest)
        .Bytes();
  }

  TemporaryFolder folder_ = *TemporaryFolder::Make();
  std::unique_ptr<ImageStore> store_;
  const std::string layer_ = TarMaker().File("hello", "world").Bytes();
};

TEST_F(ImageStoreTest, LoadsWhatDockerSaves) {
  const auto names = Load(Docker(ConfigOf(layer_), layer_));
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(*names, std::vector<std::string>{"docker.io/library/hello:1"});
  const auto image = store_->Find("hello:1");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->config.cmd, std::vector<std::string>{"/hello"});
  EXPECT_EQ(image->id, DigestOf(ConfigOf(layer_)));
  ASSERT_EQ(image->layers.size(), 1u);
  EXPECT_EQ(*ReadFile(image->layers[0] + "/hello"), "world");
  EXPECT_TRUE(store_->Find(image->id));
}

TEST_F(ImageStoreTest, LoadsAnOciLayout) {
  const std::string config = ConfigOf(layer_);
  const auto descriptor = [](const char* type, const std::string& content) {
    return json::Object{{"mediaType", type},
                        {"digest", DigestOf(content)},
                        {"size", static_cast<std::int64_t>(content.size())}};
  };
  const std::string manifest =
      json::Write(json::Object{{"schemaVersion", 2},
                               {"config", descriptor(kOciConfigType, config)},
                               {"layers", json::Array{descriptor(kOciLayerType, layer_)}}});
  json::Object image = descriptor(kOciManifestType, manifest);
  image.Set("annotations", json::Object{{"org.opencontainers.image.ref.name", "local/hello:2"}});
  const std::string index =
      json::Write(json::Object{{"schemaVersion", 2}, {"manifests", json::Array{image}}});
  const auto blob = [](const std::string& content) { return "blobs/sha256/" + DigestOf(content).substr(7); };
  const auto make = [&](const std::string& stored_layer) {
    return TarMaker()
        .File("index.json", index)
        .File(blob(config), config)
        .File(blob(layer_), stored_layer)
        .File(blob(manifest), manifest)
        .Bytes();
  };
  const auto names = Load(make(layer_));
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(*names, std::vector<std::string>{"docker.io/local/hello:2"});
  ASSERT_TRUE(store_->Remove("local/hello:2"));
  EXPECT_NE(Refused(make(layer_ + "x")).find("has digest"), std::string::npos);
}

TEST_F(ImageStoreTest, RefusesWhatIsNotAsItSays) {
  EXPECT_NE(Refused(Docker(ConfigOf("another layer"), layer_)).find("its image says"), std::string::npos);
  EXPECT_NE(Refused(Docker(ConfigOf(layer_, "z80"), layer_)).find("the image is for linux/z80"),
            std::string::npos);
  EXPECT_NE(Refused(Docker("{", layer_)).find("image configuration"), std::string::npos);
  const std::string evil = TarMaker().File("../../evil", "x").Bytes();
  EXPECT_NE(Refused(Docker(ConfigOf(evil), evil)).find("leads out of its folder"), std::string::npos);
  EXPECT_NE(Refused(Docker(ConfigOf(layer_), layer_, "../x:1")).find("invalid reference format"),
            std::string::npos);
  EXPECT_NE(Refused(TarMaker().File("something", "else").Bytes()).find("no image"), std::string::npos);
  EXPECT_NE(Refused(TarMaker().Symlink("a/layer.tar", "../../../etc/passwd").Bytes()).find("leads out"),
            std::string::npos);
}

TEST_F(ImageStoreTest, RemovesWhatNobodyUses) {
  ASSERT_TRUE(Load(Docker(ConfigOf(layer_), layer_)));
  const StoredImage image = *store_->Find("hello:1");
  ASSERT_TRUE(store_->Use("container", image));
  ASSERT_TRUE(store_->Remove("hello:1"));
  EXPECT_TRUE(fs::exists(image.layers[0])) << "a container has it mounted";
  store_->Release("container");
  ASSERT_TRUE(store_->CollectGarbage());
  EXPECT_FALSE(fs::exists(image.layers[0]));
  EXPECT_TRUE(store_->blobs().List().empty());
  EXPECT_EQ(store_->Remove("hello:1").error().reason(), Reason::kNotFound);
}

TEST_F(ImageStoreTest, BuildsFromADockerfile) {
  fs::create_directories(At("web/files"));
  std::ofstream(At("web/files/index.html")) << "hi";
  std::ofstream(At("web/Dockerfile")) << "FROM scratch\n# a comment\nENV A=1 B=\"two words\"\nWORKDIR /srv\n"
                                         "COPY files ./pages\nCOPY files/index.html \\\n  /\nUSER 1000:2000\n"
                                         "ENTRYPOINT [\"/bin/httpd\"]\nCMD [\"-f\"]\n";
  const auto id = BuildImage(*store_, At("web"), "web:1");
  ASSERT_TRUE(id) << id.error().message();
  const auto image = store_->Find("web:1");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->config.env.back(), "B=two words");
  EXPECT_EQ(image->config.working_dir, "/srv");
  EXPECT_EQ(image->config.user, "1000:2000");
  EXPECT_EQ(image->config.entrypoint, std::vector<std::string>{"/bin/httpd"});
  EXPECT_EQ(image->config.cmd, std::vector<std::string>{"-f"});
  ASSERT_EQ(image->layers.size(), 2u);
  EXPECT_EQ(*ReadFile(image->layers[0] + "/srv/pages/index.html"), "hi");
  EXPECT_EQ(*ReadFile(image->layers[1] + "/index.html"), "hi");
  // Equal input, equal image.
  EXPECT_EQ(*BuildImage(*store_, At("web"), "web:2"), *id);
}

TEST_F(ImageStoreTest, BuildRefusesWhatItCannotDo) {
  fs::create_directories(At("bad"));
  const auto refusal = [&](const std::string& text) {
    std::ofstream(At("bad/Dockerfile")) << text;
    const auto built = BuildImage(*store_, At("bad"), "bad:1");
    return built ? "built" : built.error().message();
  };
  EXPECT_NE(refusal("FROM scratch\nRUN make\n").find("Dockerfile line 2: instruction RUN is not supported"),
            std::string::npos);
  EXPECT_EQ(refusal("COPY a b\n"), "the Dockerfile does not begin with FROM");
  EXPECT_NE(refusal("FROM scratch\nCOPY ../secret /\n").find("leads out of its folder"), std::string::npos);
  fs::create_symlink("/etc", At("bad/link"));
  EXPECT_NE(refusal("FROM scratch\nCOPY link/passwd /\n").find("not in the build folder"), std::string::npos);
  EXPECT_TRUE(store_->blobs().List().empty());
}

}  // namespace
}  // namespace flyball::node
