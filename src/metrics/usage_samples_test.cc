#include "metrics/usage_samples.h"

#include <gtest/gtest.h>

namespace flyball::metrics {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{std::chrono::hours(400000)};

std::string At(TimePoint at) {
  return " " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count());
}

// One container c of pod p that was started at `started`.
std::string Text(TimePoint at, double node, double container, TimePoint started) {
  const std::string labels = "{container=\"c\",namespace=\"n\",pod=\"p\"} ";
  return "# HELP x y\nnode_cpu_usage_seconds_total " + std::to_string(node) + At(at) +
         "\nnode_memory_working_set_bytes 1e+06" + At(at) + "\ncontainer_cpu_usage_seconds_total" + labels +
         std::to_string(container) + At(at) + "\ncontainer_memory_working_set_bytes" + labels + "4096" +
         At(at) + "\ncontainer_start_time_seconds" + labels +
         std::to_string(std::chrono::duration<double>(started.time_since_epoch()).count()) + "\nother 1\n";
}

class UsageSamplesTest : public ::testing::Test {
 protected:
  void Add(Duration after, double node, double container, Duration started = -1h, bool soon = false) {
    samples_.Add(ParseResourceMetrics(Text(kStart + after, node, container, kStart + started), kStart), soon);
  }
  UsageSamples samples_;
};

TEST_F(UsageSamplesTest, TheFirstSampleMeasuresWhatBeganLongAgoFromItsStart) {
  Add(0s, 100, 36);
  EXPECT_FALSE(samples_.Node());
  EXPECT_TRUE(samples_.incomplete());
  const auto pod = samples_.Pod("n", "p");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->at("c").window, 1h);
  EXPECT_EQ(pod->at("c").cpu_nanos, 10'000'000) << "36 s in an hour";
  EXPECT_EQ(pod->at("c").memory, 4096);
}

TEST_F(UsageSamplesTest, TwoSamplesAreARate) {
  Add(0s, 100, 36);
  Add(15s, 103, 39);
  EXPECT_EQ(samples_.Node()->cpu_nanos, 200'000'000);
  EXPECT_EQ(samples_.Node()->window, 15s);
  EXPECT_EQ(samples_.Node()->memory, 1'000'000);
  EXPECT_EQ(samples_.Pod("n", "p")->at("c").cpu_nanos, 200'000'000);
  EXPECT_FALSE(samples_.incomplete());
  EXPECT_FALSE(samples_.Pod("n", "other"));
}

TEST_F(UsageSamplesTest, ASecondSampleSoonAfterKeepsLongerWindows) {
  Add(0s, 100, 0, -1s);
  EXPECT_FALSE(samples_.Pod("n", "p")) << "too young to be measured from its start";
  Add(15s, 103, 3, 14s);
  EXPECT_TRUE(samples_.incomplete()) << "started again";
  EXPECT_EQ(samples_.Node()->window, 15s);
  Add(16s, 104, 3.5, 14s, true);
  EXPECT_EQ(samples_.Node()->window, 16s);
  EXPECT_EQ(samples_.Pod("n", "p")->at("c").window, 1s);
  EXPECT_EQ(samples_.Pod("n", "p")->at("c").cpu_nanos, 500'000'000);
}

TEST_F(UsageSamplesTest, WhatIsGoneIsForgotten) {
  Add(0s, 100, 36);
  samples_.Add(ParseResourceMetrics("node_cpu_usage_seconds_total 101" + At(kStart + 10s) + "\n", kStart),
               false);
  EXPECT_FALSE(samples_.Pod("n", "p"));
  EXPECT_EQ(samples_.Node()->cpu_nanos, 100'000'000);
}

TEST_F(UsageSamplesTest, ARateThatIsExactStaysSoAtEveryMillisecond) {
  for (int millisecond = 0; millisecond < 1000; ++millisecond) {
    Add(std::chrono::milliseconds(millisecond) + millisecond * 30s, 1, 0);
    Add(std::chrono::milliseconds(millisecond) + millisecond * 30s + 15s, 2, 2.25);
    EXPECT_LE(samples_.Pod("n", "p")->at("c").cpu_nanos, 150'000'000) << millisecond;
    EXPECT_GE(samples_.Pod("n", "p")->at("c").cpu_nanos, 149'999'999) << millisecond;
  }
}

TEST(ParseResourceMetricsTest, LinesThatMakeNoSenseAreSkipped) {
  for (const char* text :
       {"", "\n\n", "node_cpu_usage_seconds_total", "node_cpu_usage_seconds_total{", "a{b=\"c",
        "container_cpu_usage_seconds_total{container=\"c\"} 1\n", "x{y=\"\\\"} 1", "{} {} {}"}) {
    const NodeSample sample = ParseResourceMetrics(text, kStart);
    EXPECT_FALSE(sample.node) << text;
    EXPECT_TRUE(sample.containers.empty()) << text;
  }
}

}  // namespace
}  // namespace flyball::metrics
