#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.StartControllers();
    plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
    Report();
    plane_.Create(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, labels: {app: p}}, spec: "
        "{nodeName: n1, tolerations: "
        "[{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: "
        "60}], "
        "containers: [{name: c, image: i}]}}");
  }
  void Report() {
    plane_.MergePatch<Node>("", "n1",
                            "status: {conditions: [{type: Ready, status: 'True', lastHeartbeatTime: '" +
                                api::FormatTime(plane_.executor.clock().Now()) + "'}]}",
                            "status");
  }
  testing::ControlPlane plane_;
};

TEST_F(NodeTest, ANodeThatFallsSilentIsTaintedAndItsPodsAreEvicted) {
  for (int i = 0; i < 10; ++i) {
    plane_.Run(10s);
    Report();
  }
  plane_.Run(1s);
  EXPECT_TRUE(plane_.Get<Node>("", "n1").spec.taints.empty());
  plane_.Run(52s);
  const Node silent = plane_.Get<Node>("", "n1");
  EXPECT_EQ(FindCondition(silent.status.conditions, "Ready")->status, "Unknown");
  EXPECT_EQ(silent.spec.taints.size(), 2u);
  EXPECT_FALSE(IsDeleting(plane_.Get<Pod>("default", "p").metadata));
  plane_.Run(61s);
  EXPECT_TRUE(IsDeleting(plane_.Get<Pod>("default", "p").metadata));
  Report();
  plane_.Run(1s);
  EXPECT_TRUE(plane_.Get<Node>("", "n1").spec.taints.empty());
}

TEST_F(NodeTest, PodsOfANodeThatIsGoneGo) {
  plane_.Run(45s);
  ASSERT_TRUE(plane_.client->Delete<Node>("", "n1"));
  plane_.Run(2s);
  EXPECT_FALSE(plane_.Exists<Pod>("default", "p"));
}

TEST_F(NodeTest, ABudgetSaysHowManyPodsMayGo) {
  plane_.Create(
      "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, spec: "
      "{minAvailable: 1, selector: {matchLabels: {app: p}}}}");
  plane_.Run(1s);
  EXPECT_EQ(plane_.Get<PodDisruptionBudget>("default", "b").status.observed_generation, 1);
  EXPECT_EQ(plane_.Get<PodDisruptionBudget>("default", "b").status.disruptions_allowed, 0);
  plane_.MergePatch<PodDisruptionBudget>("default", "b", "spec: {minAvailable: 0}");
  plane_.SetPod(plane_.Get<Pod>("default", "p"), "Running", true);
  plane_.Run(1s);
  const auto status = plane_.Get<PodDisruptionBudget>("default", "b").status;
  EXPECT_EQ(status.disruptions_allowed, 1);
  EXPECT_EQ(FindCondition(status.conditions, "DisruptionAllowed")->reason, "SufficientPods");
}

}  // namespace
}  // namespace flyball::controllers
