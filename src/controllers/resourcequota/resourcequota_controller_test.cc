#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

using namespace std::chrono_literals;

class ResourceQuotaTest : public ::testing::Test {
 protected:
  ResourceQuotaTest() { plane_.StartControllers({.enabled = {"resourcequota-controller"}}); }

  void MakePod(const std::string& name, const std::string& cpu) {
    plane_.Create(
        "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
        ", namespace: default}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: " + cpu +
        "}}}]}}");
    plane_.Run(1s);
  }
  void MakeMap(const std::string& name) {
    plane_.Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: default}}");
    plane_.Run(1s);
  }
  void MakeQuota(const std::string& spec) {
    plane_.Create(
        "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: " + spec + "}");
    plane_.Run(1s);
  }
  // "pods=1 requests.cpu=2"
  std::string Used() {
    std::string text;
    for (const auto& [name, amount] : plane_.Get<ResourceQuota>("default", "q").status.used)
      text += (text.empty() ? "" : " ") + name + "=" + amount.ToString();
    return text;
  }

  testing::ControlPlane plane_;
};

TEST_F(ResourceQuotaTest, CountsWhatWasThereBeforeAndWhatGoes) {
  MakePod("old", "1");
  MakeMap("m");
  MakeQuota("{hard: {pods: 3, requests.cpu: 5, configmaps: 3, count/deployments.apps: 1}}");
  EXPECT_EQ(Used(), "configmaps=1 count/deployments.apps=0 pods=1 requests.cpu=1");
  EXPECT_EQ(plane_.Get<ResourceQuota>("default", "q").status.hard.size(), 4u);
  MakePod("new", "2500m");
  MakeMap("other");
  EXPECT_EQ(Used(), "configmaps=2 count/deployments.apps=0 pods=2 requests.cpu=3500m");
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "new", {.grace_period_seconds = 0}));
  ASSERT_TRUE(plane_.client->Delete<ConfigMap>("default", "m"));
  plane_.Run(1s);
  EXPECT_EQ(Used(), "configmaps=1 count/deployments.apps=0 pods=1 requests.cpu=1");
}

TEST_F(ResourceQuotaTest, APodThatEndedOnlyCountsAsAnObject) {
  MakeQuota("{hard: {pods: 3, requests.cpu: 5, count/pods: 5}}");
  MakePod("a", "1");
  plane_.SetPod(plane_.Get<Pod>("default", "a"), "Succeeded", false);
  plane_.Run(1s);
  EXPECT_EQ(Used(), "count/pods=1 pods=0 requests.cpu=0");
}

TEST_F(ResourceQuotaTest, ScopesChooseThePods) {
  MakePod("a", "1");
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default}, spec: {containers: [{name: c, "
      "image: i}]}}");
  plane_.Run(1s);
  MakeQuota("{hard: {pods: 3}, scopes: [BestEffort]}");
  EXPECT_EQ(Used(), "pods=1");
}

TEST_F(ResourceQuotaTest, ManyAtOnceDoNotExceedIt) {
  plane_.StopControllers();
  plane_.StartControllers();
  MakeQuota("{hard: {pods: 3}}");
  plane_.Create(
      "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, namespace: default}, spec: {replicas: 8, "
      "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, "
      "image: i}]}}}}");
  plane_.Run(60s);
  EXPECT_EQ(plane_.List<Pod>("default").size(), 3u);
  EXPECT_EQ(Used(), "pods=3");
}

TEST_F(ResourceQuotaTest, WhatIsFreedMayBeUsedAgain) {
  MakeQuota("{hard: {configmaps: 1}}");
  MakeMap("a");
  const auto refused = plane_.client->Create(ConfigMap{.metadata = {.name = "b", .namespace_ = "default"}});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().Is(Reason::kForbidden));
  ASSERT_TRUE(plane_.client->Delete<ConfigMap>("default", "a"));
  plane_.Run(1s);
  MakeMap("b");
  EXPECT_EQ(Used(), "configmaps=1");
}

}  // namespace
}  // namespace flyball::controllers
