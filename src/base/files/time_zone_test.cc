#include "base/files/time_zone.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/testing/zone_file.h"

namespace flyball {
namespace {

// Seconds since 1970 at this hour.
std::int64_t At(int year, unsigned month, unsigned day, int hour) {
  const std::chrono::sys_days date =
      std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return (date.time_since_epoch() + std::chrono::hours(hour)) / std::chrono::seconds(1);
}

TEST(TimeZoneTest, KnowsOffsetsBeforeAndAfterAChange) {
  const auto zone = TimeZone::Find("America/New_York");
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->OffsetAt(At(2024, 3, 10, 7) - 1), -5 * 3600);
  EXPECT_EQ(zone->OffsetAt(At(2024, 3, 10, 7)), -4 * 3600);
  EXPECT_EQ(TimeZone::Find("America/New_York"), zone);
}

TEST(TimeZoneTest, FollowsTheRuleBeyondTheLastTransition) {
  const auto zone = TimeZone::Find("Europe/Berlin");
  ASSERT_TRUE(zone);
  EXPECT_EQ(zone->OffsetAt(At(2100, 6, 30, 0)), 2 * 3600);
  EXPECT_EQ(zone->OffsetAt(At(2100, 1, 1, 0)), 3600);
}

TEST(TimeZoneTest, ARuleMayBeAllAFileHas) {
  const auto berlin = TimeZone::Parse(ZoneFile("CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(berlin);
  EXPECT_EQ(berlin->OffsetAt(At(2024, 3, 31, 1) - 1), 3600);
  EXPECT_EQ(berlin->OffsetAt(At(2024, 3, 31, 1)), 7200);
  EXPECT_EQ(berlin->OffsetAt(At(2050, 10, 30, 1) - 1), 7200);
  EXPECT_EQ(berlin->OffsetAt(At(2050, 10, 30, 1)), 3600);
  EXPECT_EQ(TimeZone::Parse(ZoneFile("<+0545>-5:45"))->OffsetAt(0), (5 * 60 + 45) * 60);
}

// Daylight time that begins in one year and ends in the next.
TEST(TimeZoneTest, SummersOfTheSouthSpanTheNewYear) {
  const auto sydney = TimeZone::Parse(ZoneFile("AEST-10AEDT,M10.1.0,M4.1.0/3"));
  ASSERT_TRUE(sydney);
  EXPECT_EQ(sydney->OffsetAt(At(2024, 1, 1, 0)), 11 * 3600);
  EXPECT_EQ(sydney->OffsetAt(At(2024, 7, 1, 0)), 10 * 3600);
}

TEST(TimeZoneTest, RulesMayCountDaysOfTheYear) {
  // "J60" is 1 March in every year; "59" is 29 February in a leap year and 1 March otherwise.
  const auto julian = TimeZone::Parse(ZoneFile("AAA0BBB,J60/0,J365/0"));
  const auto counted = TimeZone::Parse(ZoneFile("AAA0BBB,59/0,364/0"));
  ASSERT_TRUE(julian && counted);
  EXPECT_EQ(julian->OffsetAt(At(2024, 3, 1, 0) - 1), 0);
  EXPECT_EQ(julian->OffsetAt(At(2024, 3, 1, 0)), 3600);
  EXPECT_EQ(counted->OffsetAt(At(2024, 2, 29, 0)), 3600);
  EXPECT_EQ(counted->OffsetAt(At(2023, 3, 1, 0) - 1), 0);
}

TEST(TimeZoneTest, APeriodEndsWhereTheNextBegins) {
  const auto zone = TimeZone::Parse(ZoneFile("CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(zone);
  const TimeZone::Period summer = zone->At(At(2024, 6, 1, 0));
  EXPECT_EQ(summer.begin, At(2024, 3, 31, 1));
  EXPECT_EQ(summer.end, At(2024, 10, 27, 1));
  EXPECT_EQ(zone->At(summer.end).begin, summer.end);
}

TEST(TimeZoneTest, RefusesNamesThatLeaveTheFolder) {
  for (const char* name : {"No/Where", "../../../etc/passwd", "/etc/localtime", "Europe/../Europe/Berlin"}) {
    EXPECT_FALSE(TimeZone::Find(name)) << name;
    EXPECT_FALSE(TimeZone::Load(name)) << name;
  }
  EXPECT_TRUE(TimeZone::Load("UTC"));
}

TEST(TimeZoneTest, RefusesBytesThatAreNoZone) {
  EXPECT_FALSE(TimeZone::Parse("TZif2"));
  EXPECT_FALSE(TimeZone::Parse(std::string(60, '\xff')));
  const std::string good = ZoneFile("CET-1CEST,M3.5.0,M10.5.0/3");
  for (std::size_t size = 0; size < good.size() - 30; ++size)
    EXPECT_FALSE(TimeZone::Parse(good.substr(0, size))) << size;
}

}  // namespace
}  // namespace flyball
