#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class NodeTest : public ::testing::Test {
 protected:
  explicit NodeTest(std::vector<std::string> controllers = {"*"}) : controllers_(std::move(controllers)) {}
  void SetUp() override {
    plane_.StartControllers({.enabled = controllers_});
    plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
    Report();
    plane_.Create(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, labels: {app: p}}, spec: "
        "{nodeName: n1, tolerations: "
        "[{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: "
        "60}], "
        "containers: [{name: c, image: i}]}}");
  }
  std::string TaintsOf(const std::string& node) {
    std::vector<std::string> taints;
    for (const Taint& taint : plane_.Get<Node>("", node).spec.taints)
      taints.push_back(taint.key + ":" + taint.effect);
    std::sort(taints.begin(), taints.end());
    std::string out;
    for (const std::string& taint : taints) out += (out.empty() ? "" : " ") + taint;
    return out;
  }
  void Report(const std::string& node = "n1") {
    plane_.MergePatch<Node>("", node,
                            "status: {conditions: [{type: Ready, status: 'True', lastHeartbeatTime: '" +
                                api::FormatTime(plane_.executor.clock().Now()) + "'}]}",
                            "status");
  }
  const std::vector<std::string> controllers_;
  testing::ControlPlane plane_;
};

// Without the controller that would remove the taint by itself.
class TaintEvictionTest : public NodeTest {
 protected:
  TaintEvictionTest() : NodeTest({"taint-eviction-controller"}) {}
};

TEST_F(NodeTest, ANodeThatFallsSilentIsTaintedAndItsPodsAreEvicted) {
  plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: n2}}");
  const auto pass = [&](Duration time, bool both) {
    for (Duration d{}; d < time; d += 5s) {
      Report("n2");
      if (both) Report();
      plane_.Run(5s);
    }
  };
  pass(100s, true);
  EXPECT_EQ(TaintsOf("n1"), "");
  pass(55s, false);
  const Node silent = plane_.Get<Node>("", "n1");
  EXPECT_EQ(FindCondition(silent.status.conditions, "Ready")->status, "Unknown");
  EXPECT_EQ(TaintsOf("n1"),
            "node.kubernetes.io/unreachable:NoExecute node.kubernetes.io/unreachable:NoSchedule");
  EXPECT_FALSE(IsDeleting(plane_.Get<Pod>("default", "p").metadata));
  pass(65s, false);
  EXPECT_TRUE(IsDeleting(plane_.Get<Pod>("default", "p").metadata));
  pass(5s, true);
  EXPECT_EQ(TaintsOf("n1"), "");
}

TEST_F(NodeTest, PodsOfANodeThatIsGoneGoAfterAWhile) {
  ASSERT_TRUE(plane_.client->Delete<Node>("", "n1"));
  plane_.Run(55s);
  EXPECT_TRUE(plane_.Exists<Pod>("default", "p"));
  plane_.Run(10s);
  EXPECT_FALSE(plane_.Exists<Pod>("default", "p"));
}

TEST_F(NodeTest, APodThatComesToANodeMissedLongAgoIsGivenItsTime) {
  const auto make = [&](const std::string& name) {
    plane_.Create("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                  ", namespace: default}, spec: {nodeName: ghost, containers: [{name: c, image: i}]}}");
  };
  make("early");
  plane_.Run(70s);
  EXPECT_FALSE(plane_.Exists<Pod>("default", "early"));
  make("late");
  plane_.Run(40s);
  EXPECT_TRUE(plane_.Exists<Pod>("default", "late"));
}

TEST_F(NodeTest, TheLastNodeStandingIsNotEmptied) {
  plane_.SetPod(plane_.Get<Pod>("default", "p"), "Running", true);
  plane_.Run(52s);
  const Node silent = plane_.Get<Node>("", "n1");
  EXPECT_EQ(FindCondition(silent.status.conditions, "Ready")->reason, "NodeStatusUnknown");
  EXPECT_EQ(FindCondition(silent.status.conditions, "DiskPressure")->reason, "NodeStatusNeverUpdated");
  EXPECT_EQ(TaintsOf("n1"), "node.kubernetes.io/unreachable:NoSchedule");
  EXPECT_EQ(FindCondition(plane_.Get<Pod>("default", "p").status.conditions, "Ready")->status, "False");
  EXPECT_EQ(plane_.EventsOf("default", "p"),
            std::vector<std::string>{"Warning NodeNotReady Node is not ready"});
  const auto events = plane_.EventsOf("default", "n1");
  EXPECT_EQ(events, (std::vector<std::string>{
                        "Normal NodeNotReady Node n1 status is now: NodeNotReady",
                        "Normal RegisteredNode Node n1 event: Registered Node n1 in Controller"}));
}

// Pods are marked only if the controller itself found that their node fell silent.
TEST_F(NodeTest, PodsOfANodeThatNeverSpokeOrSaysNotReadyKeepWhatTheySay) {
  plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: mute}}");
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: default}, spec: {nodeName: mute, "
      "containers: [{name: c, image: i}]}}");
  plane_.SetPod(plane_.Get<Pod>("default", "q"), "Running", true);
  plane_.SetPod(plane_.Get<Pod>("default", "p"), "Running", true);
  plane_.MergePatch<Node>("", "n1", "status: {conditions: [{type: Ready, status: 'False'}]}", "status");
  plane_.Run(5s);
  EXPECT_EQ(FindCondition(plane_.Get<Pod>("default", "p").status.conditions, "Ready")->status, "True");
  plane_.Run(60s);
  const Node mute = plane_.Get<Node>("", "mute");
  ASSERT_EQ(FindCondition(mute.status.conditions, "Ready")->reason, "NodeStatusNeverUpdated");
  EXPECT_EQ(FindCondition(plane_.Get<Pod>("default", "q").status.conditions, "Ready")->status, "True");
}

TEST_F(NodeTest, ConditionsAndCordonsBecomeTaints) {
  plane_.MergePatch<Node>("", "n1", "spec: {unschedulable: true}");
  plane_.MergePatch<Node>(
      "", "n1",
      "status: {conditions: [{type: Ready, status: 'False'}, {type: MemoryPressure, status: "
      "'True'}, {type: DiskPressure, status: 'False'}]}",
      "status");
  plane_.Run(1s);
  EXPECT_EQ(TaintsOf("n1"),
            "node.kubernetes.io/memory-pressure:NoSchedule node.kubernetes.io/not-ready:NoSchedule "
            "node.kubernetes.io/unschedulable:NoSchedule");
  plane_.MergePatch<Node>("", "n1", "spec: {unschedulable: false}");
  Report();
  plane_.Run(1s);
  EXPECT_EQ(TaintsOf("n1"), "");
}

TEST_F(NodeTest, OneNodeAtATimeLosesItsPods) {
  for (const char* name : {"n2", "n3", "n4"})
    plane_.Create(std::string("{apiVersion: v1, kind: Node, metadata: {name: ") + name +
                  "}, status: {conditions: [{type: Ready, status: 'False'}]}}");
  Report("n4");
  plane_.Run(1s);
  const auto evicting = [&] {
    int count = 0;
    for (const char* name : {"n2", "n3"}) count += TaintsOf(name).find("NoExecute") != std::string::npos;
    return count;
  };
  EXPECT_EQ(evicting(), 1);
  plane_.Run(11s);
  EXPECT_EQ(evicting(), 2);
}

TEST_F(TaintEvictionTest, EvictionIsCancelledWhenTheTaintGoes) {
  plane_.MergePatch<Node>("", "n1",
                          "spec: {taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute}]}");
  plane_.Run(1s);
  plane_.MergePatch<Node>("", "n1", "spec: {taints: null}");
  plane_.Run(70s);
  EXPECT_FALSE(IsDeleting(plane_.Get<Pod>("default", "p").metadata));
  const auto events = plane_.EventsOf("default", "p");
  EXPECT_EQ(std::count(events.begin(), events.end(),
                       "Normal TaintManagerEviction Cancelling deletion of Pod default/p"),
            1);
}

TEST_F(TaintEvictionTest, APodThatToleratesNothingGoesAtOnceAndSaysWhy) {
  plane_.MergePatch<Node>("", "n1", "spec: {taints: [{key: own, value: x, effect: NoExecute}]}");
  plane_.Run(1s);
  const Pod pod = plane_.Get<Pod>("default", "p");
  EXPECT_TRUE(IsDeleting(pod.metadata));
  const PodCondition* target = FindCondition(pod.status.conditions, "DisruptionTarget");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->reason, "DeletionByTaintManager");
  EXPECT_EQ(target->observed_generation, 1);
  EXPECT_EQ(plane_.EventsOf("default", "p"),
            std::vector<std::string>{"Normal TaintManagerEviction Marking for deletion Pod default/p"});
}

TEST_F(NodeTest, NewTaintsComeInTheOrderOfTheConditions) {
  plane_.MergePatch<Node>("", "n1", "spec: {unschedulable: true, taints: [{key: own, effect: NoSchedule}]}");
  plane_.Run(1s);
  plane_.MergePatch<Node>("", "n1",
                          "status: {conditions: [{type: PIDPressure, status: 'True'}, {type: "
                          "NetworkUnavailable, status: 'True'}, {type: Ready, status: 'True'}, {type: "
                          "MemoryPressure, status: 'True'}]}",
                          "status");
  plane_.Run(1s);
  std::string keys;
  for (const Taint& taint : plane_.Get<Node>("", "n1").spec.taints)
    keys += taint.key.substr(taint.key.find('/') + 1) + " ";
  EXPECT_EQ(keys, "own unschedulable pid-pressure network-unavailable memory-pressure ");
}

TEST_F(TaintEvictionTest, APodThatGoesByItselfIsNoLongerToBeEvicted) {
  plane_.MergePatch<Node>("", "n1",
                          "spec: {taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute}]}");
  plane_.Run(1s);
  DeleteParams now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "p", now));
  plane_.Run(1s);
  EXPECT_EQ(plane_.EventsOf("default", "p"),
            std::vector<std::string>{"Normal TaintManagerEviction Cancelling deletion of Pod default/p"});
}

// It is already terminating, but is still marked with the reason, once.
TEST_F(TaintEvictionTest, APodThatIsGoingIsEvictedOnce) {
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "p"));
  plane_.MergePatch<Node>("", "n1", "spec: {taints: [{key: own, effect: NoExecute}]}");
  plane_.Run(1s);
  plane_.MergePatch<Pod>("default", "p", "metadata: {labels: {x: new}}");
  plane_.Run(1s);
  EXPECT_TRUE(IsConditionTrue(plane_.Get<Pod>("default", "p").status.conditions, "DisruptionTarget"));
  const auto events = plane_.List<Event>("default");
  const auto evicted = std::find_if(events.begin(), events.end(),
                                    [](const Event& e) { return e.reason == "TaintManagerEviction"; });
  ASSERT_NE(evicted, events.end());
  EXPECT_EQ(evicted->count, 1);
}

TEST_F(NodeTest, ANodeOutOfServiceLetsItsPodsGo) {
  plane_.MergePatch<Node>("", "n1", "status: {conditions: [{type: Ready, status: 'False'}]}", "status");
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "p"));
  plane_.Run(1s);
  EXPECT_TRUE(plane_.Exists<Pod>("default", "p"));
  plane_.MergePatch<Node>(
      "", "n1",
      "spec: {taints: [{key: node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}]}");
  plane_.Run(1s);
  EXPECT_FALSE(plane_.Exists<Pod>("default", "p"));
}

TEST(PodGarbageCollectorTest, TheOldestEndedPodsGoWhenThereAreTooMany) {
  testing::ControlPlane plane;
  ControllersOptions options;
  options.terminated_pod_threshold = 2;
  plane.StartControllers(options);
  for (const char* name : {"a", "b", "c", "d"}) {
    plane.Create(std::string("{apiVersion: v1, kind: Pod, metadata: {name: ") + name +
                 ", namespace: default}, spec: {containers: [{name: c, image: i}]}}");
    plane.SetPod(plane.Get<Pod>("default", name), "Succeeded", false);
    plane.Run(2s);
  }
  const auto left = plane.List<Pod>("default");
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].metadata.name, "c");
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
