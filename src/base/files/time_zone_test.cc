#include "base/files/time_zone.h"

#include <gtest/gtest.h>

namespace flyball {
namespace {

TEST(TimeZoneTest, KnowsOffsetsBeforeAndAfterAChange) {
  const auto zone = TimeZone::Find("America/New_York");
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->OffsetAt(1710054000 - 1), -5 * 3600);  // 2024-03-10T06:59:59Z
  EXPECT_EQ(zone->OffsetAt(1710054000), -4 * 3600);
}

TEST(TimeZoneTest, FollowsTheRuleBeyondTheLastTransition) {
  const auto zone = TimeZone::Find("Europe/Berlin");
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->OffsetAt(4118083200), 2 * 3600);  // 2100-06-30
  EXPECT_EQ(zone->OffsetAt(4102444800), 3600);      // 2100-01-01
}

TEST(TimeZoneTest, RefusesNamesThatLeaveTheFolderAndBytesThatAreNoZone) {
  EXPECT_FALSE(TimeZone::Find("../../../etc/passwd"));
  EXPECT_FALSE(TimeZone::Find("/etc/localtime"));
  EXPECT_FALSE(TimeZone::Find("No/Where"));
  EXPECT_FALSE(TimeZone::Parse("TZif2"));
  EXPECT_FALSE(TimeZone::Parse(std::string(60, '\xff')));
}

}  // namespace
}  // namespace flyball
