// What is read of cgroups and /proc, and how it is told.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "json/json.h"
#include "node/stats/cgroup_usage.h"
#include "node/stats/machine_usage.h"
#include "node/stats/process_usage.h"
#include "node/stats/stats_documents.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

const TimePoint kThen{std::chrono::hours(400000)};

class CgroupUsageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/flyball-cgroups-XXXXXX";
    root_ = mkdtemp(path);
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) const {
    const fs::path path = root_ + "/" + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root_;
};

TEST_F(CgroupUsageTest, VersionTwo) {
  Write("kubepods/p/cpu.stat",
        "usage_usec 1500\nuser_usec 1\nnr_periods 7\nnr_throttled 3\nthrottled_usec 2\n");
  Write("kubepods/p/memory.current", "5000\n");
  Write("kubepods/p/memory.stat", "anon 700\nfile 3\ninactive_file 1000\npgfault 5\npgmajfault 1\n");
  Write("kubepods/p/pids.current", "4\n");
  const auto usage = ReadCgroupUsage("/kubepods/p", kThen, root_);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->at, kThen);
  EXPECT_EQ(usage->cpu_nanos, 1'500'000u);
  EXPECT_EQ(usage->memory, 5000u);
  EXPECT_EQ(usage->working_set, 4000u);
  EXPECT_EQ(usage->rss, 700u);
  EXPECT_EQ(usage->processes, 4u);
  EXPECT_EQ(usage->throttled_periods, 3u);
  EXPECT_EQ(usage->throttled_nanos, 2000u);
}

TEST_F(CgroupUsageTest, VersionOneBesideAnEmptyVersionTwo) {
  Write("unified/kubepods/p/cgroup.procs", "");
  Write("cpuacct/kubepods/p/cpuacct.usage", "1234\n");
  Write("cpu/kubepods/p/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 9\n");
  Write("memory/kubepods/p/memory.usage_in_bytes", "5000\n");
  Write("memory/kubepods/p/memory.stat",
        "rss 600\ninactive_file 1\ntotal_inactive_file 6000\ntotal_rss 700\n");
  const auto usage = ReadCgroupUsage("/kubepods/p", kThen, root_);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu_nanos, 1234u);
  EXPECT_EQ(usage->working_set, 0u) << "never below nothing";
  EXPECT_EQ(usage->rss, 700u) << "with those of the groups below";
  EXPECT_EQ(usage->throttled_nanos, 9u);
}

TEST_F(CgroupUsageTest, NothingOfWhatIsNotThere) {
  EXPECT_FALSE(ReadCgroupUsage("/kubepods/p", kThen, root_));
}

// A session with a child, both of which wait for the end of a pipe.
TEST(ProcessUsageTest, AllProcessesOfASessionAreCounted) {
  int ready[2], hold[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(hold), 0);
  const pid_t leader = fork();
  if (leader == 0) {
    setsid();
    close(hold[1]);
    if (fork() == 0) {
      (void)!write(ready[1], "x", 1);
      char end;
      (void)!read(hold[0], &end, 1);
      _exit(0);
    }
    char end;
    (void)!read(hold[0], &end, 1);
    wait(nullptr);
    _exit(0);
  }
  close(hold[0]);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto usage = ReadSessionUsage({leader, 1'000'000'000}, kThen);
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage.at(leader).processes, 2u);
  EXPECT_GT(usage.at(leader).rss, 0u);
  EXPECT_EQ(usage.at(leader).at, kThen);
  close(hold[1]);
  waitpid(leader, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(MachineUsageTest, ThisMachineUsesSomething) {
  NodeStats stats;
  ReadMachineUsage(stats, kThen);
  ASSERT_TRUE(stats.usage);
  EXPECT_GT(stats.usage->cpu_nanos, 0u);
  EXPECT_GT(stats.usage->working_set, 0u);
  EXPECT_LT(stats.usage->working_set, stats.memory_capacity);
  EXPECT_EQ(stats.memory_available, stats.memory_capacity - stats.usage->working_set);
  EXPECT_GT(stats.processes, 0u);
  EXPECT_GT(stats.max_processes, stats.processes);
  EXPECT_GT(stats.cpus, 0);
  EXPECT_NE(stats.started_at, TimePoint{});
}

NodeStats SomeStats() {
  NodeStats stats{.name = "n1", .started_at = kThen};
  stats.usage = ResourceUsage{.at = kThen, .cpu_nanos = 2'500'000'000, .memory = 9, .working_set = 8};
  stats.memory_available = 5;
  PodStats pod{.name = "web", .ns = "default", .uid = "u1", .cgroup = "/kubepods/podu1", .started_at = kThen};
  ContainerStats container{.name = "c", .id = "abc", .image = "busybox", .started_at = kThen};
  container.usage = {.at = kThen, .cpu_nanos = 500'000'000, .memory = 7, .working_set = 6};
  container.memory_limit = 10;
  pod.usage = container.usage;
  pod.containers.push_back(container);
  stats.pods.push_back(pod);
  return stats;
}

TEST(StatsDocumentsTest, ResourceMetricsAreKubelets) {
  const std::string text = ResourceMetricsText(SomeStats());
  for (const char* line :
       {"\n# TYPE container_cpu_usage_seconds_total counter\n",
        "\ncontainer_cpu_usage_seconds_total{container=\"c\",namespace=\"default\",pod=\"web\"} 0.5 "
        "1440000000000\n",
        "\ncontainer_memory_working_set_bytes{container=\"c\",namespace=\"default\",pod=\"web\"} 6 "
        "1440000000000\n",
        "\ncontainer_start_time_seconds{container=\"c\",namespace=\"default\",pod=\"web\"} 1.44e+09\n",
        "\nnode_cpu_usage_seconds_total 2.5 1440000000000\n",
        "\nnode_memory_working_set_bytes 8 1440000000000\n",
        "\npod_cpu_usage_seconds_total{namespace=\"default\",pod=\"web\"} 0.5 1440000000000\n",
        "\npod_memory_working_set_bytes{namespace=\"default\",pod=\"web\"} 6 1440000000000\n",
        "\nresource_scrape_error 0\n", "\nscrape_error 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_NE(ResourceMetricsText({}).find("\nresource_scrape_error 1\n"), std::string::npos);
}

TEST(StatsDocumentsTest, CadvisorMetricsNameTheCgroups) {
  const std::string text = CadvisorMetricsText(SomeStats());
  EXPECT_NE(text.find("\ncontainer_memory_working_set_bytes{container=\"c\",id=\"/kubepods/podu1/abc\",image="
                      "\"busybox\",name=\"abc\",namespace=\"default\",pod=\"web\"} 6 1440000000000\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("\ncontainer_cpu_usage_seconds_total{container=\"\",cpu=\"total\",id=\"/\",image=\"\",name="
                "\"\",namespace=\"\",pod=\"\"} 2.5"),
      std::string::npos);
}

TEST(StatsDocumentsTest, TheSummaryHasWhatTheLimitLeaves) {
  const json::Value summary = StatsSummary(SomeStats(), false);
  EXPECT_EQ(summary["node"]["nodeName"].string_or(""), "n1");
  EXPECT_EQ(summary["node"]["cpu"]["usageCoreNanoSeconds"].int_or(0), 2'500'000'000);
  EXPECT_EQ(summary["node"]["memory"]["availableBytes"].int_or(0), 5);
  const json::Value& pod = summary["pods"].as_array().at(0);
  EXPECT_EQ(pod["podRef"]["uid"].string_or(""), "u1");
  const json::Value& container = pod["containers"].as_array().at(0);
  EXPECT_EQ(container["memory"]["workingSetBytes"].int_or(0), 6);
  EXPECT_EQ(container["memory"]["availableBytes"].int_or(0), 4);
  EXPECT_TRUE(StatsSummary(SomeStats(), true)["node"]["rlimit"].is_null());
}

}  // namespace
}  // namespace flyball::node
