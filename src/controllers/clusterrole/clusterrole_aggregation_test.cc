#include "api/types/rbac.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class AggregationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.StartControllers({.enabled = {"clusterrole-aggregation-controller"}});
    plane_.Create(R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part: a}}, {matchLabels: {part: b}}]}
)");
  }
  void Part(const std::string& name, const std::string& part, const std::string& resource) {
    plane_.Create("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + name +
                  ", labels: {part: " + part + "}}, rules: [{apiGroups: [''], resources: [" + resource +
                  "], verbs: [get]}]}");
    plane_.Run(1s);
  }
  std::vector<std::string> Resources() {
    std::vector<std::string> out;
    const ClusterRole all = plane_.Get<ClusterRole>("", "all");
    for (const PolicyRule& rule : all.rules) out.push_back(rule.resources.at(0));
    return out;
  }
  testing::ControlPlane plane_;
};

TEST_F(AggregationTest, HasTheRulesOfAllItSelectsOnceInTheOrderOfNames) {
  Part("z", "a", "pods");
  Part("m", "b", "services");
  Part("x", "c", "secrets");
  Part("nn", "a", "pods");
  EXPECT_EQ(Resources(), (std::vector<std::string>{"services", "pods"}));
}

TEST_F(AggregationTest, FollowsLabelsAndDeletions) {
  Part("m", "a", "pods");
  Part("nn", "b", "services");
  plane_.MergePatch<ClusterRole>("", "m", "metadata: {labels: {part: none}}");
  plane_.Run(1s);
  EXPECT_EQ(Resources(), std::vector<std::string>{"services"});
  ASSERT_TRUE(plane_.client->Delete<ClusterRole>("", "nn"));
  plane_.Run(1s);
  EXPECT_TRUE(Resources().empty());
}

TEST_F(AggregationTest, WhatSomebodyWroteIntoItIsReplaced) {
  Part("m", "a", "pods");
  plane_.MergePatch<ClusterRole>("", "all",
                                 "rules: [{apiGroups: [''], resources: [nodes], verbs: [delete]}]");
  plane_.Run(1s);
  EXPECT_EQ(Resources(), std::vector<std::string>{"pods"});
}

}  // namespace
}  // namespace flyball::controllers
