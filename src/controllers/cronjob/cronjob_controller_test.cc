#include "controllers/cronjob/cron_schedule.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

TimePoint At(std::string_view text) {
  return api::ParseTime(text)->ToTimePoint();
}

TEST(CronScheduleTest, FindsTheTimesBeforeAndAfter) {
  const auto every5 = CronSchedule::Parse("*/5 * * * *");
  ASSERT_TRUE(every5);
  EXPECT_EQ(every5->Next(At("2024-01-01T00:00:00Z")), At("2024-01-01T00:05:00Z"));
  EXPECT_EQ(every5->Previous(At("2024-01-01T00:04:59Z")), At("2024-01-01T00:00:00Z"));
  const auto yearly = CronSchedule::Parse("@yearly");
  ASSERT_TRUE(yearly);
  EXPECT_EQ(yearly->Previous(At("2026-11-16T00:00:00Z")), At("2026-01-01T00:00:00Z"));
  EXPECT_EQ(yearly->Next(At("2026-11-16T00:00:00Z")), At("2027-01-01T00:00:00Z"));
  const auto weekdays = CronSchedule::Parse("30 8-18/2 * jan,FEB mon-fri");
  ASSERT_TRUE(weekdays);
  EXPECT_EQ(weekdays->Next(At("2024-01-05T18:30:00Z")), At("2024-01-08T08:30:00Z"));
  // Both limited: either is enough.
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

}  // namespace
}  // namespace flyball::controllers
