#include "node/csi/csi_messages.h"

#include <gtest/gtest.h>

namespace flyball::node {
namespace {

TEST(CsiMessagesTest, ReadsWhatADriverSaysOfItself) {
  // node_id "n", max_volumes_per_node 7, accessible_topology {segments {"k": "v"}}
  const auto info =
      DecodeCsiNodeInfo(std::string_view("\x0a\x01n\x10\x07\x1a\x08\x0a\x06\x0a\x01k\x12\x01v", 15));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->node_id, "n");
  EXPECT_EQ(info->max_volumes, 7);
  EXPECT_EQ(info->topology, (CsiMap{{"k", "v"}}));
  EXPECT_FALSE(DecodeCsiNodeInfo("\x0a\x05n"));
}

TEST(CsiMessagesTest, ReadsCapabilities) {
  const auto types =
      DecodeCsiNodeCapabilities(std::string_view("\x0a\x04\x0a\x02\x08\x01\x0a\x04\x0a\x02\x08\x03", 12));
  ASSERT_TRUE(types);
  EXPECT_EQ(*types, (std::vector<std::int64_t>{1, 3}));
}

TEST(CsiMessagesTest, WritesWhatIsToBePublished) {
  const CsiPublishRequest request{.volume_id = "h",
                                  .staging_path = {},
                                  .target_path = "/t",
                                  .capability = {.fs_type = "ext4",
                                                 .mount_flags = {"ro"},
                                                 .mount_group = {},
                                                 .access_mode = CsiAccessMode::kSingleNodeWriter},
                                  .read_only = true,
                                  .publish_context = {},
                                  .secrets = {{"k", "v"}},
                                  .volume_context = {}};
  EXPECT_EQ(Encode(request),
            std::string_view("\x0a\x01h\x22\x02/t\x2a\x10\x12\x0a\x0a\x04"
                             "ext4\x12\x02ro\x1a\x02\x08\x01\x30\x01\x3a\x06\x0a\x01k\x12\x01v",
                             35));
}

TEST(CsiMessagesTest, AccessModesAreTheDriversWords) {
  EXPECT_EQ(CsiAccessModeOf("ReadWriteOnce", false), CsiAccessMode::kSingleNodeWriter);
  EXPECT_EQ(CsiAccessModeOf("ReadWriteOnce", true), CsiAccessMode::kSingleNodeMultiWriter);
  EXPECT_EQ(CsiAccessModeOf("ReadWriteOncePod", true), CsiAccessMode::kSingleNodeSingleWriter);
  EXPECT_EQ(CsiAccessModeOf("ReadOnlyMany", true), CsiAccessMode::kMultiNodeReaderOnly);
  EXPECT_EQ(CsiAccessModeOf("ReadWriteMany", false), CsiAccessMode::kMultiNodeMultiWriter);
}

}  // namespace
}  // namespace flyball::node
