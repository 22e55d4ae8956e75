#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class NamespaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.root_ca_pem = "-----BEGIN CERTIFICATE-----";
    plane_.StartControllers(options);
    plane_.Create("{apiVersion: v1, kind: Namespace, metadata: {name: ns}}");
    plane_.Run(1s);
  }
  testing::ControlPlane plane_;
};

TEST_F(NamespaceTest, WhatANamespaceAlwaysHasComesBack) {
  EXPECT_TRUE(plane_.Exists<ServiceAccount>("ns", "default"));
  EXPECT_TRUE(plane_.Exists<ConfigMap>("ns", "kube-root-ca.crt"));
  ASSERT_TRUE(plane_.client->Delete<ServiceAccount>("ns", "default"));
  ASSERT_TRUE(plane_.client->Delete<ConfigMap>("ns", "kube-root-ca.crt"));
  plane_.Run(1s);
  EXPECT_TRUE(plane_.Exists<ServiceAccount>("ns", "default"));
  plane_.MergePatch<ConfigMap>("ns", "kube-root-ca.crt", "data: {ca.crt: x}");
  plane_.Run(1s);
  EXPECT_EQ(plane_.Get<ConfigMap>("ns", "kube-root-ca.crt").data.at("ca.crt"), "-----BEGIN CERTIFICATE-----");
}

TEST_F(NamespaceTest, ContentGoesFinalizersHoldConditionsTell) {
  plane_.Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: ns, finalizers: "
      "[example.com/hold]}}");
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {containers: [{name: c, image: "
      "i}]}}");
  ASSERT_TRUE(plane_.client->Delete<Namespace>("", "ns"));
  plane_.Run(10s);
  const Namespace ns = plane_.Get<Namespace>("", "ns");
  EXPECT_EQ(ns.status.phase, "Terminating");
  EXPECT_TRUE(plane_.List<Pod>("ns").empty());
  EXPECT_TRUE(plane_.List<ServiceAccount>("ns").empty());
  const auto* content = FindCondition(ns.status.conditions, "NamespaceContentRemaining");
  ASSERT_TRUE(content);
  EXPECT_EQ(content->message, "Some resources are remaining: configmaps. has 1 resource instances");
  const auto* finalizers = FindCondition(ns.status.conditions, "NamespaceFinalizersRemaining");
  ASSERT_TRUE(finalizers);
  EXPECT_EQ(
      finalizers->message,
      "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances");
  plane_.MergePatch<ConfigMap>("ns", "held", "metadata: {finalizers: null}");
  plane_.Run(5s);
  EXPECT_FALSE(plane_.Exists<Namespace>("", "ns"));
}

}  // namespace
}  // namespace flyball::controllers
