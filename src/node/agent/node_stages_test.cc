// Pods and nodes that go on by Stages, on virtual time, against the real API server.
#include <gtest/gtest.h>

#include "json/yaml/yaml.h"
#include "node/agent/node_agent.h"
#include "node/runtime/sim_runtime.h"
#include "node/testing/api_fixture.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

// As the simplest of KWOK's: a pod is ready at once, a Job's pod ends, a deleted one goes.
constexpr std::string_view kFastPods = R"(
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.podIP, operator: DoesNotExist}
  next:
    statusTemplate: |
      {{ $at := Now }}
      phase: Running
      startTime: {{ $at | Quote }}
      conditions:
      {{ range list "Initialized" "Ready" "ContainersReady" }}
      - {type: {{ . | Quote }}, status: "True", lastTransitionTime: {{ $at | Quote }}}
      {{ end }}
      {{ range .spec.readinessGates }}
      - {type: {{ .conditionType | Quote }}, status: "True"}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: true
        restartCount: 0
        state: {running: {startedAt: {{ $at | Quote }}}}
      {{ end }}
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: complete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.metadata.labels["job-name"]', operator: Exists}
  delay:
    durationMilliseconds: 5000
    durationFrom: {expressionFrom: '.metadata.annotations["run-for"]'}
  next:
    event: {type: Normal, reason: Done, message: it has ended}
    statusTemplate: |
      phase: Succeeded
      containerStatuses:
      {{ range $i, $c := .spec.containers }}
      - name: {{ $c.name }}
        image: {{ (index $.status.containerStatuses $i).image | Quote }}
        ready: false
        restartCount: 0
        state: {terminated: {exitCode: 0, reason: Completed, finishedAt: {{ Now | Quote }}}}
      {{ end }}
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next:
    finalizers: {empty: true}
    delete: true
)";

constexpr std::string_view kNodes = R"(
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: begin}
spec:
  resourceRef: {kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}
    - {key: '.metadata.labels["broken"]', operator: DoesNotExist}
  next:
    statusTemplate: |
      phase: Running
      conditions:
      {{ range NodeConditions }}
      - {type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason }}, message: {{ .message | Quote }}, lastHeartbeatTime: {{ Now | Quote }}}
      {{ end }}
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: break}
spec:
  resourceRef: {kind: Node}
  selector:
    matchLabels: {broken: "yes"}
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: In, values: ["True"]}
  delay: {durationMilliseconds: 1000}
  next:
    statusTemplate: |
      conditions:
      - {type: Ready, status: "False", reason: nodeFailed, message: {{ NodeName | printf "%s failed" | Quote }}}
)";

class NodeStagesTest : public ApiTest {
 protected:
  ~NodeStagesTest() override {
    if (agent_) agent_->Stop();
    executor_.RunFor(1min);
    agent_.reset();
    containers_->Shutdown();
  }
  void StartAgent(std::string_view stages) {
    auto set = StageSet::Make(*json::ParseYamlStream(stages));
    ASSERT_TRUE(set) << set.error().message();
    agent_ = std::make_unique<NodeAgent>(
        client_, *containers_,
        NodeAgentOptions{.name = "n1",
                         .capacity = SimCapacity(),
                         .stages = std::make_shared<const StageSet>(std::move(*set))});
    agent_->Start();
    executor_.RunFor(1s);
    EXPECT_TRUE(agent_->ready());
  }
  void CreatePod(const std::string& name, const std::map<std::string, std::string>& labels = {},
                 const std::map<std::string, std::string>& annotations = {}) {
    Pod pod{
        .metadata = {.name = name, .namespace_ = "default", .labels = labels, .annotations = annotations}};
    pod.spec.node_name = "n1";
    pod.spec.containers = {{.name = "c", .image = "img"}};
    Create(pod);
  }
  Pod GetPod(const std::string& name) {
    const auto pod = client_.Get<Pod>("default", name);
    EXPECT_TRUE(pod) << pod.error().ToString();
    return pod.value_or(Pod{});
  }
  NodeCondition Ready() {
    const auto node = client_.Get<Node>("", "n1");
    EXPECT_TRUE(node);
    for (const NodeCondition& condition : node->status.conditions)
      if (condition.type == "Ready") return condition;
    return {};
  }

  std::unique_ptr<ContainerRuntime> containers_ = NewSimRuntime(executor_, executor_.random());
  std::unique_ptr<NodeAgent> agent_;
};

TEST_F(NodeStagesTest, PodsBecomeReadyEndAndGo) {
  StartAgent(kFastPods);
  CreatePod("web");
  CreatePod("job", {{"job-name", "j"}}, {{"run-for", "2s"}});
  executor_.RunFor(100ms);
  const Pod web = GetPod("web");
  EXPECT_EQ(web.status.phase, "Running");
  EXPECT_EQ(web.status.host_ip, "127.0.0.1");
  EXPECT_FALSE(web.status.pod_ip.empty());
  EXPECT_NE(web.status.pod_ip, GetPod("job").status.pod_ip);
  ASSERT_EQ(web.status.container_statuses.size(), 1u);
  EXPECT_TRUE(web.status.container_statuses[0].state.running);
  executor_.RunFor(1s);
  EXPECT_EQ(GetPod("job").status.phase, "Running");
  executor_.RunFor(2s);
  EXPECT_EQ(GetPod("job").status.phase, "Succeeded");
  EXPECT_EQ(GetPod("web").status.phase, "Running");
  EXPECT_TRUE(client_.Delete<Pod>("default", "web"));
  executor_.RunFor(100ms);
  EXPECT_FALSE(client_.Get<Pod>("default", "web"));
}

TEST_F(NodeStagesTest, AnAddressIsTakenAlsoWhenTheNodeStartsAgain) {
  StartAgent(kFastPods);
  CreatePod("a");
  executor_.RunFor(1s);
  agent_->Stop();
  executor_.RunFor(1min);
  containers_ = NewSimRuntime(executor_, executor_.random());
  StartAgent(kFastPods);
  CreatePod("b");
  executor_.RunFor(1s);
  EXPECT_FALSE(GetPod("b").status.pod_ip.empty());
  EXPECT_NE(GetPod("a").status.pod_ip, GetPod("b").status.pod_ip);
}

TEST_F(NodeStagesTest, FinalizersGoBeforeThePod) {
  StartAgent(kFastPods);
  CreatePod("held");
  executor_.RunFor(100ms);
  ASSERT_TRUE(client_.Of<Pod>().Patch("default", "held", PatchType::kMerge,
                                      *json::ParseYaml("metadata: {finalizers: [a.b/c]}")));
  EXPECT_TRUE(client_.Delete<Pod>("default", "held"));
  executor_.RunFor(1s);
  EXPECT_FALSE(client_.Get<Pod>("default", "held"));
}

TEST_F(NodeStagesTest, AChangeChoosesAnew) {
  StartAgent(kFastPods);
  CreatePod("job", {{"job-name", "j"}});
  executor_.RunFor(4s);
  // The label goes before its five seconds are over.
  ASSERT_TRUE(client_.Of<Pod>().Patch("default", "job", PatchType::kMerge,
                                      *json::ParseYaml("metadata: {labels: {job-name: null}}")));
  executor_.RunFor(1min);
  EXPECT_EQ(GetPod("job").status.phase, "Running");
}

TEST_F(NodeStagesTest, NodesAreAsTheirStagesSay) {
  StartAgent(kNodes);
  EXPECT_EQ(Ready().status, "True");
  EXPECT_EQ(Ready().reason, "KubeletReady");
  ASSERT_TRUE(client_.Of<Node>().Patch("", "n1", PatchType::kMerge,
                                       *json::ParseYaml("metadata: {labels: {broken: 'yes'}}")));
  executor_.RunFor(2s);
  EXPECT_EQ(Ready().status, "False");
  EXPECT_EQ(Ready().message, "n1 failed");
  executor_.RunFor(20min);
  EXPECT_EQ(Ready().status, "False");
}

}  // namespace
}  // namespace flyball::node
