// The scheduler on virtual time against the real API server.
#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/values/ascii.h"
#include "controller/objects/owner.h"
#include "json/json.h"
#include "scheduler/testing/scheduler_fixture.h"

namespace flyball::scheduler {
namespace {

using namespace std::chrono_literals;

TEST_F(SchedulerTest, BindsAPodAndSaysSo) {
  MakeNode("n1", "4");
  MakePod("p", "1");
  executor_.RunFor(1s);
  EXPECT_EQ(Get("p").spec.node_name, "n1");
  EXPECT_EQ(Events("Scheduled"), std::vector<std::string>{"Successfully assigned default/p to n1"});
}

TEST_F(SchedulerTest, LeavesOtherSchedulersPodsAlone) {
  MakeNode("n1", "4");
  MakePod("p", "1", "another");
  executor_.RunFor(1s);
  EXPECT_EQ(Get("p").spec.node_name, "");
}

TEST_F(SchedulerTest, DoesNotBookTheSameRoomTwice) {
  MakeNode("n1", "2");
  MakeNode("n2", "2");
  for (const char* name : {"a", "b", "c", "d", "e"}) MakePod(name, "1");
  executor_.RunFor(1s);
  std::map<std::string, int> on;
  for (const char* name : {"a", "b", "c", "d", "e"}) ++on[Get(name).spec.node_name];
  EXPECT_EQ(on, (std::map<std::string, int>{{"n1", 2}, {"n2", 2}, {"", 1}}));
}

TEST_F(SchedulerTest, SaysWhyAPodFitsNowhereAndPlacesItOnceItDoes) {
  MakeNode("n1", "1");
  executor_.RunFor(1s);
  MakePod("big", "2");
  executor_.RunFor(1s);
  const Pod pod = Get("big");
  ASSERT_FALSE(pod.status.conditions.empty());
  EXPECT_EQ(pod.status.conditions[0].type, "PodScheduled");
  EXPECT_EQ(pod.status.conditions[0].status, "False");
  EXPECT_EQ(pod.status.conditions[0].reason, "Unschedulable");
  EXPECT_TRUE(pod.status.conditions[0].message.starts_with("0/1 nodes are available: 1 Insufficient cpu."));
  EXPECT_EQ(Events("FailedScheduling").size(), 1u);

  MakeNode("n2", "4");
  executor_.RunFor(1s);
  EXPECT_EQ(Get("big").spec.node_name, "n2");
}

TEST_F(SchedulerTest, WakesAPodWhenRoomIsMade) {
  MakeNode("n1", "1");
  MakePod("first", "1");
  executor_.RunFor(1s);
  MakePod("second", "1");
  executor_.RunFor(1s);
  EXPECT_EQ(Get("second").spec.node_name, "");
  ASSERT_TRUE(client_.Delete<Pod>("default", "first", {.grace_period_seconds = 0}));
  executor_.RunFor(1s);
  EXPECT_EQ(Get("second").spec.node_name, "n1");
}

TEST_F(SchedulerTest, KeepsPodsOffNodesWhoseTaintsTheyDoNotTolerate) {
  for (const char* effect : {"NoSchedule", "NoExecute"}) {
    Node node{.metadata = {.name = LowerCase(effect)}};
    node.spec.taints = {{.key = "dedicated", .effect = effect}};
    node.status.allocatable = {{"cpu", *api::Quantity::Parse("8")}, {"pods", *api::Quantity::Parse("10")}};
    ASSERT_TRUE(client_.Create(node));
  }
  MakePod("plain", "1");
  Pod tolerant{.metadata = {.name = "tolerant", .namespace_ = "default"}};
  tolerant.spec.containers = {{.name = "c", .image = "host"}};
  tolerant.spec.tolerations = {{.key = "dedicated", .operator_ = "Exists", .effect = "NoExecute"}};
  ASSERT_TRUE(client_.Create(tolerant));
  executor_.RunFor(1s);
  EXPECT_EQ(Get("plain").spec.node_name, "");
  EXPECT_EQ(Get("tolerant").spec.node_name, "noexecute");
}

// The room is given back, and the pod is tried again.
TEST_F(SchedulerTest, ABindingThatFailsIsTriedAgain) {
  MakeNode("n1", "1");
  bindings_to_spoil_ = 1;
  MakePod("p", "1");
  executor_.RunFor(100ms);
  EXPECT_EQ(bindings_to_spoil_, 0);
  EXPECT_EQ(Get("p").spec.node_name, "");
  executor_.RunFor(1min);
  EXPECT_EQ(Get("p").spec.node_name, "n1");
}

TEST_F(SchedulerTest, EvictsAPodForOneOfHigherPriority) {
  MakePriorityClass("high", 1000, "PreemptLowerPriority");
  MakeNode("n1", "1");
  MakePod("low", "1");
  executor_.RunFor(1s);
  ASSERT_EQ(Get("low").spec.node_name, "n1");
  MakePod("urgent", "1", {}, "high");
  executor_.RunFor(1s);
  const Pod low = Get("low");
  EXPECT_TRUE(low.metadata.deletion_timestamp);
  const PodCondition* why = FindCondition(low.status.conditions, "DisruptionTarget");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason, "PreemptionByScheduler");
  EXPECT_EQ(Get("urgent").status.nominated_node_name, "n1");
  EXPECT_EQ(Events("Preempted").size(), 1u);
  // The node has ended it.
  ASSERT_TRUE(client_.Delete<Pod>("default", "low", {.grace_period_seconds = 0}));
  executor_.RunFor(1s);
  EXPECT_EQ(Get("urgent").spec.node_name, "n1");
}

TEST_F(SchedulerTest, EvictsNobodyForAPodThatNeverPreempts) {
  MakePriorityClass("patient", 1000, "Never");
  MakeNode("n1", "1");
  MakePod("low", "1");
  executor_.RunFor(1s);
  MakePod("waiting", "1", {}, "patient");
  executor_.RunFor(1min);
  EXPECT_FALSE(Get("low").metadata.deletion_timestamp);
  EXPECT_EQ(Get("waiting").spec.node_name, "");
}

TEST_F(SchedulerTest, PlacesFiveHundredPods) {
  for (int i = 0; i < 10; ++i) MakeNode("n" + std::to_string(i), "64");
  for (int i = 0; i < 500; ++i) MakePod("p" + std::to_string(i), "100m");
  executor_.RunFor(1s);
  const auto pods = client_.List<Pod>("default");
  ASSERT_TRUE(pods);
  for (const Pod& pod : pods->items) EXPECT_NE(pod.spec.node_name, "") << pod.metadata.name;
}

}  // namespace
}  // namespace flyball::scheduler
