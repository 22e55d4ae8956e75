// What a node does when it runs short: thresholds, conditions, and who goes first.
#include <gtest/gtest.h>

#include "json/yaml/yaml.h"
#include "node/eviction/eviction_decision.h"
#include "node/eviction/pressure_tracker.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMebi = 1 << 20;
const TimePoint kBegin{std::chrono::hours(400000)};

NodeStats Machine(std::uint64_t memory, std::uint64_t disk = 500 * kMebi) {
  NodeStats stats;
  stats.memory_capacity = 1000 * kMebi;
  stats.memory_available = memory;
  stats.disk = DiskUsage{.capacity = 1000 * kMebi, .available = disk, .inodes = 100, .inodes_free = 50};
  stats.processes = 100;
  stats.max_processes = 1000;
  return stats;
}

EvictionThresholds Defaults() {
  return *ParseEvictionThresholds(kDefaultEvictionHard);
}

std::vector<std::string> Met(const NodeStats& stats, const EvictionThresholds& thresholds) {
  std::vector<std::string> signals;
  for (const auto& threshold : ThresholdsMet(thresholds, ObserveSignals(stats)))
    signals.push_back(threshold.signal);
  return signals;
}

TEST(EvictionThresholdsTest, DefaultsAreKubelets) {
  EXPECT_EQ(Defaults().size(), 5u);
  EXPECT_TRUE(Met(Machine(100 * kMebi), Defaults()).empty()) << "as much as the threshold is enough";
  EXPECT_EQ(Met(Machine(99 * kMebi), Defaults()), std::vector<std::string>{"memory.available"});
  EXPECT_EQ(Met(Machine(500 * kMebi, 120 * kMebi), Defaults()),
            std::vector<std::string>{"imagefs.available"});
  EXPECT_EQ(Met(Machine(500 * kMebi, 90 * kMebi), Defaults()),
            (std::vector<std::string>{"nodefs.available", "imagefs.available"}));
  NodeStats no_inodes = Machine(500 * kMebi);
  no_inodes.disk->inodes_free = 4;
  EXPECT_EQ(Met(no_inodes, Defaults()),
            (std::vector<std::string>{"nodefs.inodesFree", "imagefs.inodesFree"}));
  EXPECT_EQ(Met(Machine(500 * kMebi), *ParseEvictionThresholds("pid.available<95%")),
            std::vector<std::string>{"pid.available"});
}

TEST(EvictionThresholdsTest, WhatMakesNoSenseIsRefused) {
  EXPECT_TRUE(ParseEvictionThresholds("")->empty());
  EXPECT_TRUE(ParseEvictionThresholds("memory.available<0%")->empty()) << "turned off";
  for (const char* text : {"memory.available", "swap.available<1Gi", "memory.available<-1",
                           "nodefs.available<100%", "nodefs.available<x%", "memory.available<x"})
    EXPECT_FALSE(ParseEvictionThresholds(text)) << text;
  EXPECT_EQ(ParseEvictionThresholds("swap.available<1Gi").error().message(),
            "unsupported eviction signal swap.available");
}

TEST(PressureTrackerTest, AConditionStaysForFiveMinutes) {
  PressureTracker tracker;
  const auto met = ThresholdsMet(Defaults(), ObserveSignals(Machine(1 * kMebi)));
  EXPECT_FALSE(tracker.Update({}, kBegin));
  EXPECT_TRUE(tracker.Update(met, kBegin));
  EXPECT_EQ(tracker.conditions(), std::vector<std::string>{"MemoryPressure"});
  EXPECT_FALSE(tracker.Update({}, kBegin + 299s));
  EXPECT_TRUE(tracker.Has("MemoryPressure"));
  EXPECT_TRUE(tracker.Update({}, kBegin + 300s));
  EXPECT_TRUE(tracker.conditions().empty());
}

class EvictionDecisionTest : public ::testing::Test {
 protected:
  // A pod with one container c that uses so much memory.
  EvictionCandidate& Add(const std::string& name, const std::string& spec, std::uint64_t memory) {
    Pod pod;
    const auto parsed =
        json::ParseYaml("{metadata: {name: " + name + ", uid: " + name + "}, spec: {" + spec + "}}");
    EXPECT_TRUE(parsed && FromJson(*parsed, &pod));
    EvictionCandidate candidate{std::make_shared<const Pod>(pod), {.name = name}};
    ContainerStats container{.name = "c"};
    container.usage.working_set = memory;
    candidate.stats.usage = container.usage;
    candidate.stats.containers.push_back(container);
    pods_.push_back(candidate);
    return pods_.back();
  }
  std::optional<Eviction> Choose(const NodeStats& stats) {
    const auto observations = ObserveSignals(stats);
    return ChooseEviction(ThresholdsMet(Defaults(), observations), observations, pods_);
  }
  static std::string Requests(const std::string& memory) {
    return "containers: [{name: c, resources: {requests: {memory: " + memory + "}}}]";
  }
  std::vector<EvictionCandidate> pods_;
};

TEST_F(EvictionDecisionTest, NobodyGoesWhileThereIsEnough) {
  Add("a", Requests("1Mi"), 900 * kMebi);
  EXPECT_FALSE(Choose(Machine(500 * kMebi)));
}

TEST_F(EvictionDecisionTest, ThoseAboveTheirRequestsGoFirst) {
  Add("modest", Requests("800Mi"), 700 * kMebi);
  Add("greedy", Requests("10Mi"), 20 * kMebi);
  const auto eviction = Choose(Machine(4 * kMebi));
  ASSERT_TRUE(eviction);
  EXPECT_EQ(eviction->uid, "greedy");
  EXPECT_TRUE(eviction->by_pressure);
  EXPECT_EQ(eviction->message,
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 4Mi. Container c "
            "was using "
            "20Mi, request is 10Mi, has larger consumption of memory. ");
}

TEST_F(EvictionDecisionTest, ThenThoseOfLowPriorityThenTheLargest) {
  Add("important", Requests("1Mi") + ", priority: 10", 500 * kMebi);
  Add("small", Requests("1Mi"), 20 * kMebi);
  Add("large", Requests("1Mi"), 30 * kMebi);
  EXPECT_EQ(Choose(Machine(4 * kMebi))->uid, "large");
}

TEST_F(EvictionDecisionTest, CriticalPodsStay) {
  Add("system", Requests("1Mi") + ", priority: 2000001000", 500 * kMebi);
  EXPECT_FALSE(Choose(Machine(4 * kMebi)));
  Add("other", Requests("1Mi"), 0);
  EXPECT_EQ(Choose(Machine(4 * kMebi))->uid, "other");
}

TEST_F(EvictionDecisionTest, ForTheDiskWhatWasWrittenCounts) {
  Add("reads", Requests("1Mi"), 500 * kMebi);
  Add("writes", Requests("1Mi"), 1).stats.containers[0].writable_bytes = 7 * kMebi;
  const auto eviction = Choose(Machine(500 * kMebi, 1 * kMebi));
  EXPECT_EQ(eviction->uid, "writes");
  EXPECT_EQ(eviction->message,
            "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 1Mi. "
            "Container c "
            "was using 7Mi, request is 0, has larger consumption of ephemeral-storage. ");
}

TEST_F(EvictionDecisionTest, AnEmptyDirThatOutgrowsItsLimit) {
  auto& pod = Add("p", "containers: [{name: c}], volumes: [{name: x, emptyDir: {sizeLimit: 10Mi}}]", 1);
  EXPECT_TRUE(HasDiskLimits(*pod.pod));
  pod.stats.volume_bytes["x"] = 10 * kMebi;
  EXPECT_TRUE(OverDiskLimits(pods_).empty());
  pods_[0].stats.volume_bytes["x"] = 10 * kMebi + 1;
  ASSERT_EQ(OverDiskLimits(pods_).size(), 1u);
  EXPECT_EQ(OverDiskLimits(pods_)[0].message, "Usage of EmptyDir volume \"x\" exceeds the limit \"10Mi\". ");
  EXPECT_FALSE(OverDiskLimits(pods_)[0].by_pressure);
}

TEST_F(EvictionDecisionTest, LimitsOnWhatContainersWrite) {
  auto& pod =
      Add("p",
          "containers: [{name: c, resources: {limits: {ephemeral-storage: 4Mi}}}, {name: d, resources: "
          "{limits: {ephemeral-storage: 4Mi}}}]",
          1);
  pod.stats.containers[0].log_bytes = 3 * kMebi;
  pod.stats.containers[0].writable_bytes = 2 * kMebi;
  EXPECT_EQ(OverDiskLimits(pods_).at(0).message,
            "Container c exceeded its local ephemeral storage limit \"4Mi\". ");
  pods_[0].stats.volume_bytes["x"] = 4 * kMebi;
  EXPECT_EQ(OverDiskLimits(pods_).at(0).message,
            "Pod ephemeral local storage usage exceeds the total limit of containers 8Mi. ");
}

TEST_F(EvictionDecisionTest, UnderPressureOnlySomeAreTaken) {
  Pod pod;
  pod.status.qos_class = "BestEffort";
  EXPECT_FALSE(WhyNotUnderPressure(pod, {}));
  EXPECT_EQ(WhyNotUnderPressure(pod, {"MemoryPressure"}), "The node had condition: [MemoryPressure]. ");
  pod.status.qos_class = "Burstable";
  EXPECT_FALSE(WhyNotUnderPressure(pod, {"MemoryPressure"}));
  EXPECT_EQ(WhyNotUnderPressure(pod, {"DiskPressure", "MemoryPressure"}),
            "The node had condition: [DiskPressure MemoryPressure]. ");
  pod.spec.priority = 2'000'000'000;
  EXPECT_FALSE(WhyNotUnderPressure(pod, {"DiskPressure"}));
}

}  // namespace
}  // namespace flyball::node
