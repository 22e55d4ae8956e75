#include "node/cgroups/cgroup_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

Container With(std::map<std::string, api::Quantity> requests, std::map<std::string, api::Quantity> limits) {
  Container container{.name = "c", .image = "img"};
  container.resources.requests = std::move(requests);
  container.resources.limits = std::move(limits);
  return container;
}

api::Quantity Amount(const char* text) {
  return *api::Quantity::Parse(text);
}

TEST(CgroupTreeTest, PodHasTheSumOfItsContainers) {
  Pod pod;
  pod.spec.containers = {
      With({{"cpu", Amount("250m")}}, {{"cpu", Amount("500m")}, {"memory", Amount("64Mi")}}),
      With({{"cpu", Amount("250m")}}, {{"cpu", Amount("1")}, {"memory", Amount("64Mi")}})};
  const CgroupLimits limits = PodCgroupLimits(pod, 100);
  EXPECT_EQ(limits.cpu_shares, 512);
  EXPECT_EQ(limits.cpu_quota, 150'000);
  EXPECT_EQ(limits.memory, 128 << 20);
  EXPECT_EQ(limits.pids, 100);
}

TEST(CgroupTreeTest, OneContainerWithoutLimitLeavesThePodWithoutOne) {
  Pod pod;
  pod.spec.containers = {With({}, {{"cpu", Amount("500m")}, {"hugepages-2Mi", Amount("4Mi")}}), With({}, {})};
  const CgroupLimits limits = PodCgroupLimits(pod, -1);
  EXPECT_EQ(limits.cpu_quota, -1);
  EXPECT_EQ(limits.memory, -1);
  EXPECT_EQ(limits.pids, -1);
  EXPECT_EQ(limits.hugepages, (std::map<std::string, std::int64_t>{{"2MB", 4 << 20}}));
}

class CgroupFilesTest : public ::testing::Test {
 protected:
  CgroupFilesTest() {
    std::string name = (fs::temp_directory_path() / "flyball-cgroups-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~CgroupFilesTest() override { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text = "") {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string Get(const std::string& path) {
    std::ifstream file(root_ / path);
    std::string text;
    std::getline(file, text);
    return text;
  }

  fs::path root_;
};

const CgroupLimits kSome{.cpu_shares = 1024, .cpu_quota = 50'000, .memory = 4096, .pids = -1};

TEST_F(CgroupFilesTest, Version2) {
  Put("cgroup.controllers", "cpu memory pids");
  for (const char* file : {"cpu.weight", "cpu.max", "memory.max", "pids.max"})
    Put(std::string("kubepods/podx/") + file);
  ASSERT_TRUE(CgroupTree(root_.string()).Make("/kubepods/podx", kSome));
  EXPECT_EQ(Get("kubepods/podx/cpu.weight"), "39");
  EXPECT_EQ(Get("kubepods/podx/cpu.max"), "50000 100000");
  EXPECT_EQ(Get("kubepods/podx/memory.max"), "4096");
  EXPECT_EQ(Get("kubepods/podx/pids.max"), "max");
}

TEST_F(CgroupFilesTest, Version1) {
  Put("cpu/kubepods/podx/cpu.shares");
  Put("cpu/kubepods/podx/cpu.cfs_quota_us");
  Put("memory/kubepods/podx/memory.limit_in_bytes");
  Put("pids/kubepods/podx/pids.max");
  ASSERT_TRUE(CgroupTree(root_.string()).Make("/kubepods/podx", kSome));
  EXPECT_EQ(Get("cpu/kubepods/podx/cpu.shares"), "1024");
  EXPECT_EQ(Get("cpu/kubepods/podx/cpu.cfs_quota_us"), "50000");
  EXPECT_EQ(Get("memory/kubepods/podx/memory.limit_in_bytes"), "4096");
  EXPECT_EQ(Get("pids/kubepods/podx/pids.max"), "max");
}

TEST_F(CgroupFilesTest, BurstablePodsHaveTheirShareTogether) {
  Put("cpu/kubepods/burstable/poda/cpu.shares", "512");
  Put("cpu/kubepods/burstable/podb/cpu.shares", "102");
  Put("cpu/kubepods/burstable/cpu.shares", "1024");
  Put("cpu/kubepods/besteffort/cpu.shares", "1024");
  CgroupTree(root_.string()).BalanceClasses("/kubepods");
  EXPECT_EQ(Get("cpu/kubepods/burstable/cpu.shares"), "614");
  EXPECT_EQ(Get("cpu/kubepods/besteffort/cpu.shares"), "2");
}

TEST_F(CgroupFilesTest, WhatAControllerRefusesIsSaid) {
  fs::create_directories(root_ / "memory/kubepods/podx/memory.limit_in_bytes");  // cannot be written
  const Status made = CgroupTree(root_.string()).Make("/kubepods/podx", kSome);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("memory.limit_in_bytes"), std::string::npos);
}

}  // namespace
}  // namespace flyball::node
