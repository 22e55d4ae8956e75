#include "api/types/autoscaling.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

constexpr char kNoMetrics[] =
    "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from "
    "resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";

class HorizontalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.StartControllers();
    plane_.Create(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
)");
    plane_.Settle();
  }
  void Scale(const std::string& target) {
    plane_.Create(
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: "
        "default}, "
        "spec: {minReplicas: 1, maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: " +
        target +
        "}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, "
        "averageUtilization: 50}}}]}}");
    plane_.Run(1s);
  }
  HorizontalPodAutoscalerStatus StatusOfH() {
    return plane_.Get<HorizontalPodAutoscaler>("default", "h").status;
  }
  std::string Said(const std::string& type) {
    const auto status = StatusOfH();
    const auto* condition = FindCondition(status.conditions, type);
    return condition ? condition->status + " " + condition->reason + " " + condition->message : "";
  }
  int Size() { return plane_.Get<Deployment>("default", "web").spec.replicas.value_or(-1); }
  testing::ControlPlane plane_;
};

TEST_F(HorizontalTest, WithoutMetricsItSaysSoAndLeavesTheSize) {
  Scale("Deployment, name: web");
  EXPECT_EQ(Said("AbleToScale"),
            "True SucceededGetScale the HPA controller was able to get the target's current scale");
  EXPECT_EQ(Said("ScalingActive"),
            std::string("False FailedGetResourceMetric the HPA was unable to compute the replica count: ") +
                kNoMetrics);
  EXPECT_EQ(StatusOfH().current_replicas, 2);
  EXPECT_EQ(StatusOfH().desired_replicas, 0);
  EXPECT_EQ(StatusOfH().current_metrics, std::vector<MetricStatus>(1));
  EXPECT_EQ(Size(), 2);
  const auto events = plane_.EventsOf("default", "h");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(
      events[0],
      std::string("Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error "
                  "is: failed to get cpu resource metric value: ") +
          kNoMetrics);
  EXPECT_EQ(events[1], std::string("Warning FailedGetResourceMetric ") + kNoMetrics);
}

TEST_F(HorizontalTest, OutsideItsLimitsTheSizeIsBroughtIn) {
  Scale("Deployment, name: web");
  plane_.MergePatch<HorizontalPodAutoscaler>("default", "h", "spec: {minReplicas: 3}");
  plane_.Run(15s);
  EXPECT_EQ(Size(), 3);
  EXPECT_EQ(Said("AbleToScale"),
            "True SucceededRescale the HPA controller was able to update the target scale to 3");
  EXPECT_EQ(StatusOfH().desired_replicas, 3);
  EXPECT_TRUE(StatusOfH().last_scale_time);
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 9}");
  plane_.Run(15s);
  EXPECT_EQ(Size(), 4) << "at the next look";
  const auto events = plane_.EventsOf("default", "h");
  EXPECT_EQ(
      events.at(0),
      "Normal SuccessfulRescale New size: 3; reason: Current number of replicas below Spec.MinReplicas");
  EXPECT_EQ(
      events.at(1),
      "Normal SuccessfulRescale New size: 4; reason: Current number of replicas above Spec.MaxReplicas");
}

TEST_F(HorizontalTest, ATargetOfNoPodsIsLeftAlone) {
  plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: 0}");
  Scale("Deployment, name: web");
  EXPECT_EQ(Said("ScalingActive"),
            "False ScalingDisabled scaling is disabled since the replica count of the target is zero");
  EXPECT_EQ(Size(), 0);
}

TEST_F(HorizontalTest, NothingToScale) {
  Scale("Deployment, name: ghost");
  EXPECT_EQ(Said("AbleToScale"),
            "False FailedGetScale the HPA controller was unable to get the target's current scale: "
            "deployments.apps \"ghost\" not found");
  EXPECT_EQ(Said("ScalingActive"), "");
  EXPECT_EQ(plane_.EventsOf("default", "h"),
            std::vector<std::string>{"Warning FailedGetScale deployments.apps \"ghost\" not found"});
}

TEST_F(HorizontalTest, AKindThatIsNotServed) {
  Scale("Gadget, name: g");
  EXPECT_EQ(
      Said("AbleToScale"),
      "False FailedGetScale the HPA controller was unable to get the target's current scale: no matches "
      "for kind \"Gadget\" in group \"apps\"");
}

}  // namespace
}  // namespace flyball::controllers
