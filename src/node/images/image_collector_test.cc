#include "node/images/image_collector.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files/temporary_folder.h"
#include "json/json.h"
#include "node/images/image_archive.h"
#include "node/testing/tar_maker.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

const TimePoint kNoon{std::chrono::hours(400000)};

TEST(ImageGcPolicyTest, ThresholdsHaveToMakeSense) {
  EXPECT_TRUE(CheckImageGcPolicy({}));
  EXPECT_EQ(
      CheckImageGcPolicy({.high_percent = 101}).error().message(),
      "invalid configuration: imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 "
      "and 100, inclusive");
  EXPECT_EQ(
      CheckImageGcPolicy({.high_percent = 50, .low_percent = 50}).error().message(),
      "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 50 must be less than "
      "imageGCHighThresholdPercent (--image-gc-high-threshold) 50");
  EXPECT_FALSE(CheckImageGcPolicy({.max_age = 1min}));
}

class ImageCollectorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "unpacking layers needs root";
    store_ = std::make_unique<ImageStore>(*ImageStore::Open((folder_.path() / "images").string()));
    const std::string layer = TarMaker().File("hello", "world").Bytes();
    const std::string config =
        json::Write(json::Object{{"architecture", std::string(MachineArchitecture())},
                                 {"os", "linux"},
                                 {"config", json::Object{}},
                                 {"rootfs", json::Object{{"diff_ids", json::Array{DigestOf(layer)}}}}});
    const std::string manifest = json::Write(json::Array{json::Object{
        {"Config", "c.json"}, {"RepoTags", json::Array{"built:1"}}, {"Layers", json::Array{"l.tar"}}}});
    const auto archive = folder_.Write(
        "image.tar",
        TarMaker().File("l.tar", layer).File("c.json", config).File("manifest.json", manifest).Bytes());
    ASSERT_TRUE(LoadImageArchive(*store_, *archive));
    const std::string digest = store_->Find("built:1")->manifest_digest;
    for (const char* name : {"docker.io/library/old:1", "docker.io/library/new:1"})
      ASSERT_TRUE(store_->Add(digest, {name}, {.digest = digest}));
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto images = store_->List();
    for (const StoredImage& image : *images) names.push_back(image.name.substr(image.name.rfind('/') + 1));
    return names;
  }
  ImageCollector Make(const ImageGcPolicy& policy) {
    return ImageCollector(*store_, policy, [this](TimePoint now) {
      // Each image that is removed frees ten percent.
      const std::size_t left = store_->List()->size();
      return DiskUsage{.at = now, .capacity = 100, .available = free_ + 10 * (3 - left)};
    });
  }
  TemporaryFolder folder_ = *TemporaryFolder::Make();
  std::unique_ptr<ImageStore> store_;
  std::uint64_t free_ = 10;
};

TEST_F(ImageCollectorTest, TheLongestIdleGoesFirstAndOnlyAsManyAsNeeded) {
  ImageCollector collector = Make({});
  ASSERT_FALSE(collector.Round({"docker.io/library/new:1"}, kNoon)) << "all are too young, which is said";
  EXPECT_EQ(Names().size(), 3u);
  EXPECT_TRUE(collector.Round({}, kNoon + 3min));
  EXPECT_EQ(Names(), (std::vector<std::string>{"built:1", "new:1"}));
}

TEST_F(ImageCollectorTest, WhatIsUsedOrWasNeverPulledStays) {
  ImageCollector collector = Make({.min_age = 0s});
  free_ = 0;
  const Status full = collector.Round({"docker.io/library/old:1"}, kNoon);
  EXPECT_EQ(Names(), (std::vector<std::string>{"built:1", "old:1"}));
  EXPECT_EQ(
      full.error().message(),
      "Failed to garbage collect required amount of images. Attempted to free 20 bytes, but only found 10 "
      "bytes eligible to free.");
}

TEST_F(ImageCollectorTest, NothingGoesWhileThereIsRoom) {
  ImageCollector collector = Make({.min_age = 0s});
  free_ = 16;
  EXPECT_TRUE(collector.Round({}, kNoon));
  EXPECT_EQ(Names().size(), 3u);
  EXPECT_TRUE(collector.RemoveUnused({}, kNoon));
  EXPECT_EQ(Names(), std::vector<std::string>{"built:1"});
}

TEST_F(ImageCollectorTest, WhatWasIdleForTooLongGoes) {
  free_ = 90;
  ImageCollector collector = Make({.max_age = 1h});
  EXPECT_TRUE(collector.Round({"docker.io/library/new:1"}, kNoon));
  EXPECT_TRUE(collector.Round({"docker.io/library/new:1"}, kNoon + 59min));
  EXPECT_EQ(Names().size(), 3u);
  EXPECT_TRUE(collector.Round({}, kNoon + 61min));
  EXPECT_EQ(Names(), (std::vector<std::string>{"built:1", "new:1"}));
}

}  // namespace
}  // namespace flyball::node
