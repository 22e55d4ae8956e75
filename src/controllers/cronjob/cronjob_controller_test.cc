#include "base/testing/zone_file.h"
#include "controllers/cronjob/cron_schedule.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

TimePoint At(std::string_view text) {
  return api::ParseTime(text)->ToTimePoint();
}

std::optional<TimePoint> LastOf(const CronSchedule& schedule, std::string_view since, std::string_view now) {
  return schedule.MissedSince(At(since), At(now)).last;
}

TEST(CronScheduleTest, AnInterval) {
  const auto every = CronSchedule::Parse("@every 1h30m");
  ASSERT_TRUE(every);
  EXPECT_EQ(every->Next(At("2024-01-01T00:10:00Z")), At("2024-01-01T01:40:00Z"));
  EXPECT_EQ(LastOf(*every, "2024-01-01T00:10:00Z", "2024-01-01T05:00:00Z"), At("2024-01-01T04:40:00Z"));
  EXPECT_FALSE(LastOf(*every, "2024-01-01T00:10:00Z", "2024-01-01T01:39:59Z"));
  EXPECT_FALSE(CronSchedule::Parse("@every soon"));
  EXPECT_FALSE(CronSchedule::Parse("*/5 * * * *")
                   ->MissedSince(At("2024-01-01T00:00:00Z"), At("2024-01-01T08:00:00Z"))
                   .many);
  EXPECT_TRUE(CronSchedule::Parse("*/5 * * * *")
                  ->MissedSince(At("2024-01-01T00:00:00Z"), At("2024-01-01T09:00:00Z"))
                  .many);
}

TEST(CronScheduleTest, ClocksThatChange) {
  const auto zone = TimeZone::Parse(ZoneFile("CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(zone);
  const auto morning = CronSchedule::Parse("0 9 * * *", *zone);
  EXPECT_EQ(morning->Next(At("2024-03-30T12:00:00Z")), At("2024-03-31T07:00:00Z"));
  EXPECT_EQ(LastOf(*morning, "2024-03-01T00:00:00Z", "2024-03-31T06:59:00Z"), At("2024-03-30T08:00:00Z"));
  // 02:30 does not exist on that night, and exists twice on the other.
  const auto night = CronSchedule::Parse("30 2 * * *", *zone);
  EXPECT_EQ(night->Next(At("2024-03-30T12:00:00Z")), At("2024-04-01T00:30:00Z"));
  EXPECT_EQ(night->Next(At("2024-10-27T00:00:00Z")), At("2024-10-27T00:30:00Z"));
  EXPECT_EQ(night->Next(At("2024-10-27T00:30:00Z")), At("2024-10-27T01:30:00Z"));
}

TEST(CronScheduleTest, FindsTheTimesBeforeAndAfter) {
  const auto every5 = CronSchedule::Parse("*/5 * * * *");
  ASSERT_TRUE(every5);
  EXPECT_EQ(every5->Next(At("2024-01-01T00:00:00Z")), At("2024-01-01T00:05:00Z"));
  EXPECT_EQ(LastOf(*every5, "2023-12-31T00:00:00Z", "2024-01-01T00:04:59Z"), At("2024-01-01T00:00:00Z"));
  const auto yearly = CronSchedule::Parse("@yearly");
  ASSERT_TRUE(yearly);
  EXPECT_EQ(LastOf(*yearly, "2020-01-01T00:00:00Z", "2026-11-16T00:00:00Z"), At("2026-01-01T00:00:00Z"));
  EXPECT_EQ(yearly->Next(At("2026-11-16T00:00:00Z")), At("2027-01-01T00:00:00Z"));
  const auto weekdays = CronSchedule::Parse("30 8-18/2 * jan,FEB mon-fri");
  ASSERT_TRUE(weekdays);
  EXPECT_EQ(weekdays->Next(At("2024-01-05T18:30:00Z")), At("2024-01-08T08:30:00Z"));
  // Both day fields are restricted: either one suffices.
  const auto either = CronSchedule::Parse("0 0 13 * fri");
  EXPECT_EQ(either->Next(At("2024-01-06T00:00:00Z")), At("2024-01-12T00:00:00Z"));
  EXPECT_EQ(either->Next(At("2024-01-12T00:00:00Z")), At("2024-01-13T00:00:00Z"));
  EXPECT_FALSE(CronSchedule::Parse("0 0 30 2 *")->Next(At("2024-01-01T00:00:00Z")));
  for (const char* bad : {"", "* * * *", "60 * * * *", "*/0 * * * *", "5-1 * * * *", "x * * * *"})
    EXPECT_FALSE(CronSchedule::Parse(bad)) << bad;
}

class CronJobTest : public ::testing::Test {
 protected:
  void SetUp() override { plane_.StartControllers(); }
  void Make(const std::string& spec) {
    plane_.Create(
        "{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick, namespace: default}, spec: {schedule: "
        "'*/5 * * * *', " +
        spec +
        "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "
        "i}]}}}}}}");
  }
  void FinishPods() {
    for (const Pod& pod : plane_.List<Pod>("default"))
      if (pod.status.phase == "Pending") plane_.SetPod(pod, "Succeeded", false);
    plane_.Run(1s);
  }
  testing::ControlPlane plane_;
};

TEST_F(CronJobTest, MakesAJobAtEachTimeAndKeepsThreeOfThem) {
  Make("");
  plane_.Run(4min);
  EXPECT_TRUE(plane_.List<Job>("default").empty());
  for (int i = 0; i < 6; ++i) {
    plane_.Run(5min);
    FinishPods();
  }
  EXPECT_EQ(plane_.List<Job>("default").size(), 3u);
  const CronJob cron = plane_.Get<CronJob>("default", "tick");
  EXPECT_TRUE(cron.status.active.empty());
  EXPECT_TRUE(cron.status.last_schedule_time);
  EXPECT_TRUE(cron.status.last_successful_time);
}

TEST_F(CronJobTest, RunsBySchedulesThatTheApiAccepts) {
  Make("");
  for (const char* schedule : {"1,,2 * * * *", "*-5 * * * *", "3\\t*\\t*\\t*\\t*"}) {
    plane_.MergePatch<CronJob>("default", "tick", "spec: {schedule: \"" + std::string(schedule) + "\"}");
    const std::size_t before = plane_.List<Job>("default").size();
    plane_.Run(61min);
    EXPECT_GT(plane_.List<Job>("default").size(), before) << schedule;
  }
}

TEST_F(CronJobTest, AScheduleThatNeverComesIsReported) {
  Make("");
  plane_.MergePatch<CronJob>("default", "tick", "spec: {schedule: '59 23 31 2 *'}");
  plane_.Run(1s);
  const auto events = plane_.EventsOf("default", "tick");
  EXPECT_EQ(std::count(events.begin(), events.end(),
                       "Warning InvalidSchedule invalid schedule: 59 23 31 2 * : time difference between two "
                       "schedules is less than 1 second"),
            1);
}

TEST_F(CronJobTest, ForbidWaitsReplaceDoesNot) {
  Make("concurrencyPolicy: Forbid, ");
  plane_.Run(16min);
  ASSERT_EQ(plane_.List<Job>("default").size(), 1u);
  const std::string first = plane_.List<Job>("default")[0].metadata.name;
  plane_.MergePatch<CronJob>("default", "tick", "spec: {concurrencyPolicy: Replace}");
  plane_.Run(6min);
  ASSERT_EQ(plane_.List<Job>("default").size(), 1u);
  EXPECT_NE(plane_.List<Job>("default")[0].metadata.name, first);
}

TEST_F(CronJobTest, InItsTimeZoneWithTheLocalTimeNoted) {
  if (!TimeZone::Load("Asia/Kolkata")) GTEST_SKIP() << "there is no time zone database";
  Make("timeZone: Asia/Kolkata, ");
  plane_.MergePatch<CronJob>("default", "tick", "spec: {schedule: '0 9 * * *'}");
  plane_.Run(25h);
  const auto jobs = plane_.List<Job>("default");
  ASSERT_EQ(jobs.size(), 1u);
  const std::string at = jobs[0].metadata.annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp");
  EXPECT_TRUE(at.ends_with("T09:00:00+05:30")) << at;
}

TEST_F(CronJobTest, VeryManyMissedTimesAreToldAndTheLastIsRunAtOnce) {
  Make("suspend: true, ");
  plane_.Run(10h);
  EXPECT_TRUE(plane_.List<Job>("default").empty());
  plane_.MergePatch<CronJob>("default", "tick", "spec: {suspend: false}");
  plane_.Run(1s);
  EXPECT_EQ(plane_.List<Job>("default").size(), 1u);
  const auto events = plane_.EventsOf("default", "tick");
  EXPECT_EQ(std::count(events.begin(), events.end(),
                       "Warning TooManyMissedTimes too many missed start times. Set or decrease "
                       ".spec.startingDeadlineSeconds or check clock skew"),
            1);
}

TEST_F(CronJobTest, ARunThatIsTooLateIsLeftOut) {
  Make("suspend: true, startingDeadlineSeconds: 30, ");
  plane_.Run(7min);
  plane_.MergePatch<CronJob>("default", "tick", "spec: {suspend: false}");
  plane_.Run(10s);
  EXPECT_TRUE(plane_.List<Job>("default").empty());
  plane_.Run(5min);
  EXPECT_EQ(plane_.List<Job>("default").size(), 1u);
}

TEST_F(CronJobTest, ANewScheduleCountsFromItsNextTimeOn) {
  Make("");
  plane_.MergePatch<CronJob>("default", "tick", "spec: {schedule: '0 0 1 1 *'}");
  plane_.Run(10min + 20s);
  plane_.MergePatch<CronJob>("default", "tick", "spec: {schedule: '* * * * *'}");
  plane_.Run(1s);
  EXPECT_TRUE(plane_.List<Job>("default").empty()) << "minutes that passed are not made up for";
  plane_.Run(1min);
  EXPECT_EQ(plane_.List<Job>("default").size(), 1u);
}

}  // namespace
}  // namespace flyball::controllers
