#include <gmock/gmock.h>

#include <set>

#include "controllers/nodeipam/cidr_set.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

using controllers::testing::ControlPlane;

TEST(CidrSetTest, GoesRound) {
  CidrSet set(*api::ParseCidr("10.244.0.0/22"), 24);
  EXPECT_EQ(set.Next(), "10.244.0.0/24");
  EXPECT_EQ(set.Next(), "10.244.1.0/24");
  set.ReleaseAll();
  EXPECT_EQ(set.Next(), "10.244.2.0/24");
  EXPECT_TRUE(set.Occupy(*api::ParseCidr("10.244.3.0/26")));
  EXPECT_EQ(set.Next(), "10.244.0.0/24");
  EXPECT_EQ(set.Next(), "10.244.1.0/24");
  EXPECT_EQ(set.Next(), std::nullopt);
  EXPECT_FALSE(set.Occupy(*api::ParseCidr("10.245.0.0/24")));
}

TEST(CidrSetTest, KnowsIpv6) {
  CidrSet set(*api::ParseCidr("fd00:10:244::/48"), 64);
  EXPECT_EQ(set.Next(), "fd00:10:244::/64");
  EXPECT_EQ(set.Next(), "fd00:10:244:1::/64");
  EXPECT_TRUE(set.Occupy(*api::ParseCidr("fd00:10:244:2::/63")));
  EXPECT_EQ(set.Next(), "fd00:10:244:4::/64");
}

void MakeNode(ControlPlane& plane, const std::string& name) {
  auto made = plane.client->Create(Node{.metadata = {.name = name}});
  ASSERT_TRUE(made) << made.error().ToString();
}

std::vector<std::string> RangesOf(ControlPlane& plane, const std::string& name) {
  const auto node = plane.client->Get<Node>("", name);
  return node ? node->spec.pod_cidrs : std::vector<std::string>{"no node"};
}

ControllersOptions OptionsFor(std::vector<std::string> cluster) {
  ControllersOptions options;
  options.enabled = {"node-ipam-controller"};
  options.node_ipam = {.allocate = true, .cluster_cidrs = std::move(cluster), .service_cidrs = {}};
  return options;
}

TEST(NodeIpamTest, GivesEachNodeARangeOfItsOwn) {
  ControlPlane plane;
  plane.StartControllers(OptionsFor({"10.244.0.0/16", "fd00:244::/48"}));
  std::set<std::string> given;
  for (const std::string name : {"a", "b", "c"}) {
    MakeNode(plane, name);
    plane.executor.RunFor(std::chrono::seconds(1));
    const auto ranges = RangesOf(plane, name);
    ASSERT_EQ(ranges.size(), 2u);
    given.insert(ranges.begin(), ranges.end());
    EXPECT_EQ(plane.client->Get<Node>("", name)->spec.pod_cidr, ranges.front());
  }
  EXPECT_EQ(given.size(), 6u);
}

TEST(NodeIpamTest, SaysWhenThereIsNone) {
  ControlPlane plane;
  plane.StartControllers(OptionsFor({"10.244.0.0/24"}));
  MakeNode(plane, "a");
  plane.executor.RunFor(std::chrono::seconds(1));
  MakeNode(plane, "b");
  plane.executor.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(RangesOf(plane, "a").size(), 1u);
  EXPECT_EQ(RangesOf(plane, "b").size(), 0u);
  const auto events = plane.client->List<Event>("default");
  ASSERT_TRUE(events);
  EXPECT_TRUE(std::any_of(events->items.begin(), events->items.end(),
                          [](const auto& event) { return event.reason == "CIDRNotAvailable"; }));
  // What a node had that is gone is free again.
  ASSERT_TRUE(plane.client->Delete<Node>("", "a"));
  plane.executor.RunFor(std::chrono::minutes(5));
  EXPECT_EQ(RangesOf(plane, "b"), std::vector<std::string>{"10.244.0.0/24"});
}

TEST(NodeIpamTest, RefusesRangesThatMakeNoSense) {
  NodeIpamOptions options{.allocate = true, .cluster_cidrs = {}, .service_cidrs = {}};
  EXPECT_FALSE(ValidateNodeIpam(options));
  options.cluster_cidrs = {"10.244.0.0/25"};
  EXPECT_FALSE(ValidateNodeIpam(options));
  options.cluster_cidrs = {"10.244.0.0/16", "10.245.0.0/16"};
  EXPECT_FALSE(ValidateNodeIpam(options));
  options.cluster_cidrs = {"10.244.0.0/16", "fd00::/56"};
  EXPECT_TRUE(ValidateNodeIpam(options));
}

}  // namespace
}  // namespace flyball::controllers
