#include "controller/events/event_recorder.h"

#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/observe/log.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest()
      : executor_(2),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        recorder_(Client(std::make_shared<RestClient>(server_, runtime_)), "tester", "node-1") {
    pod_.metadata.name = "web";
    pod_.metadata.namespace_ = "shop";
    pod_.metadata.uid = "u1";
  }

  std::vector<json::Value> Events() {
    executor_.RunFor(1s);
    std::vector<json::Value> out;
    for (const auto& [key, version] : server_->Versions("/api/v1/events")) {
      const auto slash = key.find('/');
      out.push_back(*server_->Find("/api/v1/events", key.substr(0, slash), key.substr(slash + 1)));
    }
    return out;
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  EventRecorder recorder_;
  Pod pod_;
};

TEST_F(EventRecorderTest, AnEventSaysWhatHappenedToWhom) {
  recorder_.Normal(pod_, "Started", "it runs");
  const auto events = Events();
  ASSERT_EQ(events.size(), 1u);
  const json::Value& event = events[0];
  EXPECT_EQ(event["metadata"]["namespace"].string_or(""), "shop");
  EXPECT_TRUE(event["metadata"]["name"].string_or("").starts_with("web."));
  EXPECT_EQ(event["involvedObject"]["kind"].string_or(""), "Pod");
  EXPECT_EQ(event["involvedObject"]["uid"].string_or(""), "u1");
  EXPECT_EQ(event["type"].string_or(""), "Normal");
  EXPECT_EQ(event["source"]["component"].string_or(""), "tester");
  EXPECT_EQ(event["source"]["host"].string_or(""), "node-1");
  EXPECT_EQ(event["count"].int_or(0), 1);
}

TEST_F(EventRecorderTest, TheSameAgainOnlyCounts) {
  for (int i = 0; i < 5; ++i) recorder_.Warning(pod_, "BackOff", "again");
  const auto events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["count"].int_or(0), 5);
  EXPECT_EQ(server_->requests("POST"), 1u);
  EXPECT_EQ(server_->requests("PATCH"), 4u);
}

TEST_F(EventRecorderTest, ManySimilarOnesAreCombined) {
  for (int i = 0; i < 15; ++i) recorder_.Normal(pod_, "Pulled", "image " + std::to_string(i));
  const auto events = Events();
  EXPECT_EQ(events.size(), 10u);
  std::size_t combined = 0;
  for (const auto& event : events)
    if (event["message"].string_or("").starts_with("(combined from similar events): ")) {
      ++combined;
      EXPECT_EQ(event["count"].int_or(0), 6);
      EXPECT_EQ(event["message"].string_or(""), "(combined from similar events): image 14");
    }
  EXPECT_EQ(combined, 1u);
}

TEST_F(EventRecorderTest, AnObjectGets25AtOnceThenOneInFiveMinutes) {
  for (int i = 0; i < 40; ++i) recorder_.Normal(pod_, "R" + std::to_string(i), "m");
  EXPECT_EQ(Events().size(), 25u);
  EXPECT_EQ(recorder_.dropped(), 15u);
  executor_.RunFor(5min);
  recorder_.Normal(pod_, "Later", "m");
  recorder_.Normal(pod_, "TooSoon", "m");
  EXPECT_EQ(Events().size(), 26u);
}

TEST_F(EventRecorderTest, AnExpiredEventIsMadeAnew) {
  recorder_.Normal(pod_, "Started", "it runs");
  const auto first = Events();
  server_->Remove("/api/v1/events", "shop", std::string(first[0]["metadata"]["name"].string_or("")));
  recorder_.Normal(pod_, "Started", "it runs");
  const auto events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["count"].int_or(0), 2);
}

TEST_F(EventRecorderTest, WhileTheServerIsAwayTheyWaitUpToABound) {
  server_->SetDown(true);
  for (std::size_t i = 0; i < EventRecorder::kMaxPending + 100; ++i) {
    Pod pod = pod_;
    pod.metadata.name = "p" + std::to_string(i);
    recorder_.Normal(pod, "Started", "it runs");
  }
  EXPECT_EQ(recorder_.pending(), EventRecorder::kMaxPending);
  EXPECT_EQ(recorder_.dropped(), 100u);
  executor_.RunFor(30s);
  server_->SetDown(false);
  executor_.RunFor(1min);
  EXPECT_EQ(recorder_.pending(), 0u);
  EXPECT_EQ(Events().size(), EventRecorder::kMaxPending);
}

}  // namespace
}  // namespace flyball
