#include "api/types/policy.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class DisruptionTest : public ::testing::Test {
 protected:
  void SetUp() override { plane_.StartControllers(); }

  void Budget(const std::string& spec) {
    plane_.Create(
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, spec: "
        "{" +
        spec + ", selector: {matchLabels: {app: web}}}}");
  }
  void Workload(const std::string& kind) {
    plane_.Create(
        "{apiVersion: apps/v1, kind: " + kind +
        ", metadata: {name: web, namespace: default}, spec: {replicas: 4, selector: {matchLabels: "
        "{app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "
        "i}]}}}}");
    plane_.Settle();
  }
  // "allowed=1 healthy=4 desired=3 expected=4 SufficientPods"
  std::string Said() {
    const auto status = plane_.Get<PodDisruptionBudget>("default", "b").status;
    const auto* condition = FindCondition(status.conditions, "DisruptionAllowed");
    return "allowed=" + std::to_string(status.disruptions_allowed) +
           " healthy=" + std::to_string(status.current_healthy) +
           " desired=" + std::to_string(status.desired_healthy) +
           " expected=" + std::to_string(status.expected_pods) + " " + (condition ? condition->reason : "");
  }
  testing::ControlPlane plane_;
};

TEST_F(DisruptionTest, AShareIsOfWhatTheDeploymentWants) {
  Budget("minAvailable: 50%");
  Workload("Deployment");
  EXPECT_EQ(Said(), "allowed=2 healthy=4 desired=2 expected=4 SufficientPods");
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 7}");
  plane_.Settle();
  EXPECT_EQ(Said(), "allowed=3 healthy=7 desired=4 expected=7 SufficientPods") << "rounded up";
}

TEST_F(DisruptionTest, PodsThatAreNotReadyOrEndAreNotHealthy) {
  Budget("maxUnavailable: 1");
  Workload("ReplicaSet");
  EXPECT_EQ(Said(), "allowed=1 healthy=4 desired=3 expected=4 SufficientPods");
  plane_.SetPod(plane_.List<Pod>("default").at(0), "Running", false);
  plane_.Run(1s);
  EXPECT_EQ(Said(), "allowed=0 healthy=3 desired=3 expected=4 InsufficientPods");
}

// Granted but not seen: the pod counts as gone until that times out.
TEST_F(DisruptionTest, AGrantedEvictionCountsUntilItTimesOut) {
  Budget("maxUnavailable: 2");
  Workload("ReplicaSet");
  const std::string pod = plane_.List<Pod>("default").at(0).metadata.name;
  plane_.MergePatch<PodDisruptionBudget>(
      "default", "b",
      "status: {disruptedPods: {" + pod + ": '" + api::FormatTime(plane_.executor.clock().Now()) + "'}}",
      "status");
  plane_.Run(1s);
  EXPECT_EQ(Said(), "allowed=1 healthy=3 desired=2 expected=4 SufficientPods");
  plane_.Run(125s);
  EXPECT_EQ(Said(), "allowed=2 healthy=4 desired=2 expected=4 SufficientPods");
  EXPECT_TRUE(plane_.Get<PodDisruptionBudget>("default", "b").status.disrupted_pods.empty());
}

TEST_F(DisruptionTest, WithoutPodsItSaysSo) {
  Budget("minAvailable: 1");
  plane_.Run(1s);
  EXPECT_EQ(Said(), "allowed=0 healthy=0 desired=1 expected=0 InsufficientPods");
  EXPECT_EQ(plane_.EventsOf("default", "b"),
            std::vector<std::string>{"Normal NoPods No matching pods found"});
}

// The current DisruptionTarget, e.g. "True PreemptionByScheduler".
class StaleDisruptionTest : public DisruptionTest {
 protected:
  void Mark(const std::string& reason) {
    plane_.Create(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, "
        "image: i}]}}");
    plane_.MergePatch<Pod>(
        "default", "p",
        "status: {conditions: [{type: DisruptionTarget, status: 'True', reason: " + reason +
            ", lastTransitionTime: '" + api::FormatTime(plane_.executor.clock().Now()) + "'}]}",
        "status");
  }
  std::string Marked() {
    const Pod pod = plane_.Get<Pod>("default", "p");
    const auto* target = FindCondition(pod.status.conditions, "DisruptionTarget");
    return target ? target->status + " " + target->reason : "";
  }
};

TEST_F(StaleDisruptionTest, APodThatWasToGoAndDidNotIsToldSoAfterTwoMinutes) {
  Mark("PreemptionByScheduler");
  plane_.Run(110s);
  EXPECT_EQ(Marked(), "True PreemptionByScheduler");
  plane_.Run(15s);
  EXPECT_EQ(Marked(), "False ");
}

TEST_F(StaleDisruptionTest, ANodeMayTakeItsTime) {
  Mark("TerminationByKubelet");
  plane_.Run(10min);
  EXPECT_EQ(Marked(), "True TerminationByKubelet");
}

}  // namespace
}  // namespace flyball::controllers
