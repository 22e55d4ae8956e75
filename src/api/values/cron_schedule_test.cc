#include "api/values/cron_schedule.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

TEST(CronScheduleTest, GoodSchedules) {
  for (const char* schedule :
       {"* * * * *", "*/5 0-23/2 1,15 jan-dec MON-FRI", "0 0 ? * 6", "@hourly", "@every 1h30m",
        "5/15 * * * *", "1,,2 * * * *", "*-5 * * * *", "0\t*\t*\t*\t*"}) {
    EXPECT_TRUE(ParseCronSchedule(schedule)) << schedule;
  }
}

TEST(CronScheduleTest, BadOnesAreExplainedAsTheLibraryDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty spec string"},
      {"bad", "expected exactly 5 fields, found 1: [bad]"},
      {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
      {"1/2/3 * * * *", "too many slashes: 1/2/3"},
      {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
      {"@sometimes", "unrecognized descriptor: @sometimes"},
      {"@every x", "failed to parse duration @every x: time: invalid duration \"x\""},
  };
  for (const auto& [schedule, problem] : cases) {
    const auto parsed = ParseCronSchedule(schedule);
    ASSERT_FALSE(parsed) << schedule;
    EXPECT_EQ(parsed.error().message(), problem) << schedule;
  }
}

TEST(CronScheduleTest, EmptyRangesDoNotCount) {
  EXPECT_EQ(ParseCronSchedule("1,,2 * * * *")->minutes, (std::bitset<60>(0b110)));
}

TEST(CronScheduleTest, AStarTakesNoEnd) {
  const auto fields = ParseCronSchedule("0 0 *-5 * mon");
  EXPECT_TRUE(fields->any_day);
  EXPECT_EQ(fields->days.count(), 31u);
}

TEST(CronScheduleTest, AStarWithAStepIsAList) {
  EXPECT_TRUE(ParseCronSchedule("0 0 * * mon")->any_day);
  EXPECT_FALSE(ParseCronSchedule("0 0 */2 * mon")->any_day);
}

TEST(CronScheduleTest, AZoneBeforeTheFields) {
  EXPECT_EQ(ParseCronSchedule("CRON_TZ=Europe/Berlin 0 0 * * *")->zone, "Europe/Berlin");
  EXPECT_FALSE(ParseCronSchedule("TZ=Mars/X 0 0 * * *"));
  EXPECT_FALSE(ParseCronSchedule("TZ=UTC"));
}

TEST(CronScheduleTest, TimeZonesAreThoseOfTheDatabase) {
  for (const char* name : {"UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"})
    EXPECT_TRUE(IsTimeZone(name));
  for (const char* name : {"", "Mars/X", "europe/berlin", "Local"}) EXPECT_FALSE(IsTimeZone(name));
}

}  // namespace
}  // namespace flyball::api
