#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class DaemonSetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"daemonset-controller", "garbage-collector-controller"};
    plane_.StartControllers(options);
    MakeNode("n1", "disk: ssd");
    MakeNode("n2");
  }
  void MakeNode(const std::string& name, const std::string& labels = "") {
    plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: {" + labels +
                  "}}, status: {conditions: [{type: Ready, status: 'True'}]}}");
    plane_.MergePatch<Node>("", name, "spec: {taints: null}");
  }
  void Make(const std::string& spec = "") {
    plane_.Create(
        "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: "
        "{selector: "
        "{matchLabels: {app: agent}}, " +
        spec +
        "template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: 'i:1'}]}}}}");
    plane_.Run(1s);
  }
  void Update(const std::string& spec) {
    plane_.MergePatch<DaemonSet>("default", "agent", "spec: {" + spec + "}");
    plane_.Run(1s);
  }
  void SetImage(const std::string& image) {
    Update("template: {spec: {containers: [{name: c, image: '" + image + "'}]}}");
  }
  static std::string NodeOf(const Pod& pod) {
    if (!pod.spec.node_name.empty()) return pod.spec.node_name;
    return pod.spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution
        ->node_selector_terms[0]
        .match_fields[0]
        .values[0];
  }
  void Ready(const std::string& node, const std::string& image) {
    for (const Pod& pod : plane_.List<Pod>("default"))
      if (NodeOf(pod) == node && pod.spec.containers[0].image == image) plane_.SetPod(pod, "Running", true);
    plane_.Run(1s);
  }
  // "n1=i:1 n2=i:1", by node and image.
  std::string Pods() {
    std::vector<std::string> all;
    for (const Pod& pod : plane_.List<Pod>("default"))
      all.push_back(NodeOf(pod) + "=" + pod.spec.containers[0].image);
    std::sort(all.begin(), all.end());
    std::string out;
    for (const std::string& text : all) out += (out.empty() ? "" : " ") + text;
    return out;
  }
  std::string Counts() {
    const DaemonSetStatus s = plane_.Get<DaemonSet>("default", "agent").status;
    return "desired=" + std::to_string(s.desired_number_scheduled) +
           " current=" + std::to_string(s.current_number_scheduled) +
           " mis=" + std::to_string(s.number_misscheduled) + " ready=" + std::to_string(s.number_ready) +
           " updated=" + std::to_string(s.updated_number_scheduled) +
           " available=" + std::to_string(s.number_available);
  }
  testing::ControlPlane plane_;
};

TEST_F(DaemonSetTest, APodOnEveryNodeThatFits) {
  Make();
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:1");
  EXPECT_EQ(Counts(), "desired=2 current=2 mis=0 ready=0 updated=2 available=0");
  MakeNode("n3");
  plane_.Run(1s);
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:1 n3=i:1");
  plane_.MergePatch<Node>("", "n3", "spec: {unschedulable: true, taints: [{key: own, effect: NoSchedule}]}");
  plane_.Run(1s);
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:1 n3=i:1") << "who is there may stay";
  EXPECT_EQ(Counts(), "desired=2 current=2 mis=1 ready=0 updated=2 available=0");
  plane_.MergePatch<Node>("", "n3", "spec: {taints: [{key: own, effect: NoExecute}]}");
  plane_.Run(1s);
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:1");
  Update("template: {spec: {nodeSelector: {disk: ssd}}}");
  EXPECT_EQ(Counts().substr(0, 9), "desired=1");
}

TEST_F(DaemonSetTest, AFailedPodIsReplacedWithBackOff) {
  Make();
  const auto fail = [&] {
    for (const Pod& pod : plane_.List<Pod>("default"))
      if (NodeOf(pod) == "n1") plane_.SetPod(pod, "Failed", false, 1);
    plane_.Run(200ms);
    for (const Pod& pod : plane_.List<Pod>("default"))
      if (NodeOf(pod) == "n1") return pod.status.phase;
    return std::string();
  };
  EXPECT_EQ(fail(), "Pending");
  EXPECT_EQ(fail(), "Failed") << "the second time it waits";
  plane_.Run(2s);
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:1");
  const auto events = plane_.EventsOf("default", "agent");
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const std::string& event) {
    return event.starts_with("Warning FailedDaemonPod Found failed daemon pod default/agent-") &&
           event.ends_with(" on node n1, will try to kill it");
  }));
}

TEST_F(DaemonSetTest, UpdatesOneNodeAtATime) {
  Make();
  Ready("n1", "i:1");
  Ready("n2", "i:1");
  SetImage("i:2");
  EXPECT_EQ(Pods(), "n1=i:2 n2=i:1");
  EXPECT_EQ(Counts(), "desired=2 current=2 mis=0 ready=1 updated=1 available=1");
  Ready("n1", "i:2");
  EXPECT_EQ(Pods(), "n1=i:2 n2=i:2");
  EXPECT_EQ(plane_.List<ControllerRevision>("default").size(), 2u);
}

TEST_F(DaemonSetTest, WithSurgeTheNewOneComesFirst) {
  Make("updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, ");
  Ready("n1", "i:1");
  Ready("n2", "i:1");
  SetImage("i:2");
  EXPECT_EQ(Pods(), "n1=i:1 n1=i:2 n2=i:1");
  EXPECT_EQ(Counts(), "desired=2 current=2 mis=0 ready=2 updated=0 available=2");
  Ready("n1", "i:2");
  EXPECT_EQ(Pods(), "n1=i:2 n2=i:1 n2=i:2");
  Ready("n2", "i:2");
  EXPECT_EQ(Pods(), "n1=i:2 n2=i:2");
}

TEST_F(DaemonSetTest, OnDeleteWaitsForSomebodyToDelete) {
  Make("updateStrategy: {type: OnDelete}, ");
  SetImage("i:2");
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:1");
  for (const Pod& pod : plane_.List<Pod>("default"))
    if (NodeOf(pod) == "n2") {
      ASSERT_TRUE(plane_.client->Delete(pod));
    }
  plane_.Run(1s);
  EXPECT_EQ(Pods(), "n1=i:1 n2=i:2");
}

}  // namespace
}  // namespace flyball::controllers
