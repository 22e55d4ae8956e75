// The agent with the sim runtime, on virtual time, against the real API server.
#include "node/agent/node_agent.h"

#include <gtest/gtest.h>

#include <set>

#include "api/types/coordination.h"
#include "json/json.h"
#include "node/runtime/sim_runtime.h"
#include "node/testing/api_fixture.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

class NodeAgentTest : public ApiTest {
 protected:
  NodeAgentTest() : containers_(NewSimRuntime(executor_, executor_.random())) { StartAgent(); }
  ~NodeAgentTest() override { StopAgent(); }

  void StartAgent(const std::string& address = "127.0.0.1", const std::string& shares_network_because = "") {
    agent_ = std::make_unique<NodeAgent>(client_, *containers_,
                                         NodeAgentOptions{.name = "n1",
                                                          .address = address,
                                                          .capacity = SimCapacity(),
                                                          .shares_network_because = shares_network_because});
    agent_->Start();
    executor_.RunFor(1s);
  }
  void StopAgent() {
    agent_->Stop();
    executor_.RunFor(1min);
    agent_.reset();
    containers_->Shutdown();
  }

  static Pod MakePod(const std::string& name) {
    Pod pod{.metadata = {.name = name, .namespace_ = "default"}};
    pod.spec.node_name = "n1";
    pod.spec.containers = {{.name = "c", .image = "img"}};
    return pod;
  }
  void Create(const Pod& pod) {
    const auto made = client_.Create(pod);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  Pod Get(const std::string& name) {
    auto pod = client_.Get<Pod>("default", name);
    EXPECT_TRUE(pod) << pod.error().ToString();
    return pod ? *pod : Pod{};
  }
  bool Exists(const std::string& name) { return client_.Get<Pod>("default", name).has_value(); }
  static std::string ConditionOf(const auto& object, const std::string& type) {
    for (const auto& condition : object.status.conditions)
      if (condition.type == type) return condition.status;
    return "(none)";
  }
  std::vector<std::string> Events(const std::string& reason) {
    std::vector<std::string> messages;
    const auto events = client_.Dynamic({"", "v1", "Event", "events", true}).List("default");
    EXPECT_TRUE(events);
    for (const json::Value& event : events->items)
      if (event["reason"].string_or("") == reason) messages.emplace_back(event["message"].string_or(""));
    return messages;
  }

  std::unique_ptr<ContainerRuntime> containers_;
  std::unique_ptr<NodeAgent> agent_;
};

TEST_F(NodeAgentTest, SaysThatPodsShareTheNodesNetwork) {
  EXPECT_TRUE(Events("PodsShareNodeNetwork").empty());
  StopAgent();
  StartAgent("127.0.0.1", "it needs root");
  const auto events = Events("PodsShareNodeNetwork");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(
      events[0].starts_with("Pods have the network and address of this node (it needs root): no two"));
}

// Passes everything on, the first status of a node late.
class LateStatus final : public net::Transport {
 public:
  LateStatus(std::shared_ptr<net::Transport> inner, Executor& executor)
      : inner_(std::move(inner)), executor_(executor) {}
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    const bool status =
        request.method == "PATCH" && request.target.find("/nodes/n1/status") != std::string::npos;
    if (!status || late_) return inner_->Start(std::move(request), std::move(sink));
    late_ = true;
    executor_.PostAfter(10s,
                        [inner = inner_, request = std::move(request), sink = std::move(sink)]() mutable {
                          inner->Start(std::move(request), std::move(sink));
                        });
    return std::make_shared<NoCall>();
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> protocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    inner_->OpenWebSocket(std::move(request), std::move(protocols), std::move(done));
  }

 private:
  struct NoCall final : net::Call {
    void Cancel() override {}
    void Pause() override {}
    void Resume() override {}
  };
  const std::shared_ptr<net::Transport> inner_;
  Executor& executor_;
  bool late_ = false;
};

TEST_F(NodeAgentTest, AnOlderStatusIsNotWrittenAfterANewerOne) {
  StopAgent();
  const auto transport = std::make_shared<LateStatus>(
      server_->InProcess({.name = "admin", .groups = {"system:masters", "system:authenticated"}}), executor_);
  agent_ = std::make_unique<NodeAgent>(
      Client(std::make_shared<RestClient>(transport, runtime_)), *containers_,
      NodeAgentOptions{.name = "n1", .capacity = SimCapacity(), .wait_for_serving = true});
  agent_->Start();
  executor_.RunFor(1s);  // the Node was there before: the agent writes its status
  agent_->SetServing();
  executor_.RunFor(1min);
  EXPECT_EQ(ConditionOf(*client_.Get<Node>("", "n1"), "Ready"), "True");
}

TEST_F(NodeAgentTest, RegistersItsNodeReadyAndWithoutTaint) {
  EXPECT_TRUE(agent_->ready());
  const auto node = client_.Get<Node>("", "n1");
  ASSERT_TRUE(node) << node.error().ToString();
  EXPECT_EQ(ConditionOf(*node, "Ready"), "True");
  EXPECT_TRUE(node->spec.taints.empty());
  EXPECT_EQ(node->metadata.labels.at("kubernetes.io/hostname"), "n1");
}

TEST_F(NodeAgentTest, ReadinessGatesHoldAPodBack) {
  Pod gated = MakePod("g");
  gated.spec.readiness_gates = {{.condition_type = "example.com/ready"}};
  Create(gated);
  executor_.RunFor(2s);
  const auto ready = [&] {
    const Pod pod = Get("g");
    for (const PodCondition& condition : pod.status.conditions)
      if (condition.type == "Ready")
        return condition.status + " " + condition.reason + " " + condition.message;
    return std::string();
  };
  EXPECT_EQ(
      ready(),
      "False ReadinessGatesNotReady corresponding condition of pod readiness gate \"example.com/ready\" "
      "does not exist.");
  const auto opened = client_.Of<Pod>().Patch(
      "default", "g", PatchType::kStrategicMerge,
      json::Object{
          {"status", json::Object{{"conditions", json::Array{json::Object{{"type", "example.com/ready"},
                                                                          {"status", "True"}}}}}}},
      {.subresource = "status"});
  ASSERT_TRUE(opened) << opened.error().ToString();
  executor_.RunFor(2s);
  EXPECT_EQ(ready(), "True  ") << "nothing of the old reason is left";
}

TEST_F(NodeAgentTest, EphemeralContainersRunOnceBesideTheOthers) {
  Create(MakePod("a"));
  executor_.RunFor(1s);
  const auto added = client_.Of<Pod>().Patch(
      "default", "a", PatchType::kStrategicMerge,
      json::Object{{"spec", json::Object{{"ephemeralContainers",
                                          json::Array{json::Object{{"name", "look"},
                                                                   {"image", "img"},
                                                                   {"terminationMessagePolicy", "File"}}}}}}},
      {.subresource = "ephemeralcontainers"});
  ASSERT_TRUE(added) << added.error().ToString();
  executor_.RunFor(1s);
  const Pod pod = Get("a");
  ASSERT_EQ(pod.status.ephemeral_container_statuses.size(), 1u);
  const ContainerStatus& status = pod.status.ephemeral_container_statuses[0];
  EXPECT_TRUE(status.state.running);
  EXPECT_FALSE(status.ready);
  EXPECT_EQ(pod.status.container_statuses.size(), 1u);
  EXPECT_EQ(ConditionOf(pod, "Ready"), "True");
}

TEST_F(NodeAgentTest, RenewsItsLease) {
  const auto before = client_.Get<Lease>("kube-node-lease", "n1");
  ASSERT_TRUE(before) << before.error().ToString();
  executor_.RunFor(11s);
  const auto after = client_.Get<Lease>("kube-node-lease", "n1");
  ASSERT_TRUE(after);
  EXPECT_GT(*after->spec.renew_time, *before->spec.renew_time);
}

TEST_F(NodeAgentTest, RunsAPodAndSaysSo) {
  Create(MakePod("p"));
  executor_.RunFor(2s);
  const Pod pod = Get("p");
  EXPECT_EQ(pod.status.phase, "Running");
  EXPECT_EQ(ConditionOf(pod, "Ready"), "True");
  EXPECT_FALSE(pod.status.pod_ip.empty());
  ASSERT_EQ(pod.status.container_statuses.size(), 1u);
  EXPECT_TRUE(pod.status.container_statuses[0].ready);
  EXPECT_TRUE(pod.status.container_statuses[0].state.running.has_value());
  EXPECT_EQ(Events("Started"), std::vector<std::string>{"Started container c"});
}

TEST_F(NodeAgentTest, DeletesAPodOnceItsContainersHaveStopped) {
  Create(MakePod("p"));
  executor_.RunFor(2s);
  ASSERT_TRUE(client_.Delete<Pod>("default", "p"));
  executor_.RunFor(2s);
  EXPECT_FALSE(Exists("p"));
  EXPECT_EQ(Events("Killing"), std::vector<std::string>{"Stopping container c"});
}

TEST_F(NodeAgentTest, RestartsWithGrowingBackoff) {
  Pod pod = MakePod("p");
  pod.metadata.annotations = {{kSimExitAfter, "1"}, {kSimExitCode, "3"}};
  Create(pod);
  // Ends after 1 s, starts again at once, ends, waits 10 s.
  executor_.RunFor(5s);
  Pod now = Get("p");
  ASSERT_EQ(now.status.container_statuses.size(), 1u);
  const ContainerStatus& status = now.status.container_statuses[0];
  EXPECT_EQ(status.restart_count, 1);
  ASSERT_TRUE(status.state.waiting.has_value());
  EXPECT_EQ(status.state.waiting->reason, "CrashLoopBackOff");
  ASSERT_TRUE(status.last_state.terminated.has_value());
  EXPECT_EQ(status.last_state.terminated->exit_code, 3);
  EXPECT_EQ(now.status.phase, "Running");
  executor_.RunFor(1h);
  now = Get("p");
  // 10 + 20 + 40 + 80 + 160 + 300... seconds apart.
  EXPECT_GE(now.status.container_statuses[0].restart_count, 12);
  EXPECT_LE(now.status.container_statuses[0].restart_count, 18);
}

TEST_F(NodeAgentTest, APodThatIsNotRestartedSucceeds) {
  Pod pod = MakePod("p");
  pod.spec.restart_policy = "Never";
  pod.metadata.annotations = {{kSimExitAfter, "1"}};
  Create(pod);
  executor_.RunFor(3s);
  const Pod now = Get("p");
  EXPECT_EQ(now.status.phase, "Succeeded");
  EXPECT_EQ(ConditionOf(now, "Ready"), "False");
}

TEST_F(NodeAgentTest, InitContainersComeFirstAndSidecarsStay) {
  Pod pod = MakePod("p");
  pod.spec.init_containers = {{.name = "side", .image = "img", .restart_policy = "Always"}};
  Create(pod);
  executor_.RunFor(2s);
  const Pod now = Get("p");
  EXPECT_EQ(now.status.phase, "Running");
  EXPECT_EQ(ConditionOf(now, "Initialized"), "True");
  ASSERT_EQ(now.status.init_container_statuses.size(), 1u);
  EXPECT_TRUE(now.status.init_container_statuses[0].state.running.has_value());
  ASSERT_TRUE(client_.Delete<Pod>("default", "p"));
  executor_.RunFor(5s);
  EXPECT_FALSE(Exists("p"));
}

TEST_F(NodeAgentTest, WaitsForAConfigMapThatIsNotThere) {
  Pod pod = MakePod("p");
  pod.spec.containers[0].env = {{.name = "A"}};
  pod.spec.containers[0].env[0].value_from.emplace().config_map_key_ref =
      ConfigMapKeySelector{.name = "settings", .key = "a"};
  Create(pod);
  executor_.RunFor(2s);
  const Pod waiting = Get("p");
  ASSERT_TRUE(waiting.status.container_statuses.at(0).state.waiting.has_value());
  EXPECT_EQ(waiting.status.container_statuses[0].state.waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(waiting.status.container_statuses[0].state.waiting->message, "configmap \"settings\" not found");
  ASSERT_TRUE(client_.Create(
      ConfigMap{.metadata = {.name = "settings", .namespace_ = "default"}, .data = {{"a", "1"}}}));
  executor_.RunFor(20s);
  EXPECT_EQ(Get("p").status.phase, "Running");
}

TEST_F(NodeAgentTest, StartsContainersAgainAfterTheAgentDid) {
  Create(MakePod("p"));
  executor_.RunFor(2s);
  StopAgent();
  containers_ = NewSimRuntime(executor_, executor_.random());
  StartAgent();
  executor_.RunFor(2s);
  const Pod now = Get("p");
  EXPECT_EQ(now.status.phase, "Running");
  EXPECT_EQ(now.status.container_statuses.at(0).restart_count, 1);
}

TEST_F(NodeAgentTest, AnAddressThatHasChangedReplacesTheOldOne) {
  Create(MakePod("p"));
  executor_.RunFor(2s);
  StopAgent();
  StartAgent("10.0.0.7");
  executor_.RunFor(2s);
  const Pod pod = Get("p");
  EXPECT_EQ(pod.status.host_ip, "10.0.0.7");
  ASSERT_EQ(pod.status.host_ips.size(), 1u);
  EXPECT_EQ(pod.status.host_ips[0].ip, "10.0.0.7");
}

TEST_F(NodeAgentTest, RunsManyPods) {
  for (int i = 0; i < 200; ++i) Create(MakePod("p" + std::to_string(i)));
  executor_.RunFor(5s);
  const auto pods = client_.List<Pod>("default");
  ASSERT_TRUE(pods);
  std::set<std::string> addresses;
  for (const Pod& pod : pods->items) {
    EXPECT_EQ(ConditionOf(pod, "Ready"), "True") << pod.metadata.name;
    addresses.insert(pod.status.pod_ip);
  }
  EXPECT_EQ(addresses.size(), 200u);
}

TEST_F(NodeAgentTest, APodEndsAtItsDeadline) {
  Pod pod = MakePod("p");
  pod.spec.active_deadline_seconds = 30;
  Create(pod);
  executor_.RunFor(20s);
  EXPECT_EQ(Get("p").status.phase, "Running");
  executor_.RunFor(15s);
  pod = Get("p");
  EXPECT_EQ(pod.status.phase, "Failed");
  EXPECT_EQ(pod.status.reason, "DeadlineExceeded");
  EXPECT_EQ(pod.status.message, "Pod was active on the node longer than the specified deadline");
}

TEST_F(NodeAgentTest, ADeadlineThatIsSetLaterCounts) {
  Create(MakePod("p"));
  executor_.RunFor(20s);
  const json::Value patch = json::Object{{"spec", json::Object{{"activeDeadlineSeconds", 5}}}};
  ASSERT_TRUE(client_.Patch<Pod>("default", "p", PatchType::kMerge, patch));
  executor_.RunFor(5s);
  EXPECT_EQ(Get("p").status.reason, "DeadlineExceeded");
}

TEST_F(NodeAgentTest, PodsThatDoNotFitAreRejected) {
  Pod first = MakePod("first");
  first.spec.containers[0].ports = {{.host_port = 80, .container_port = 80}};
  Create(first);
  executor_.RunFor(1s);
  Pod second = first;
  second.metadata.name = "second";
  Create(second);
  Pod large = MakePod("large");
  large.spec.containers[0].resources.requests["cpu"] = api::Quantity(1000);
  Create(large);
  Pod elsewhere = MakePod("elsewhere");
  elsewhere.spec.node_selector = {{"disk", "ssd"}};
  Create(elsewhere);
  executor_.RunFor(2s);
  EXPECT_EQ(Get("first").status.phase, "Running");
  EXPECT_EQ(Get("second").status.phase, "Failed");
  EXPECT_EQ(Get("second").status.reason, "NodePorts");
  EXPECT_EQ(Get("second").status.message,
            "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested "
            "pod ports");
  EXPECT_EQ(Get("large").status.reason, "OutOfcpu");
  EXPECT_EQ(Get("large").status.message,
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: 0, capacity: "
            "256000");
  EXPECT_EQ(Get("elsewhere").status.reason, "NodeAffinity");
}

TEST_F(NodeAgentTest, TheNodeAsItIsNowDecidesWhatFits) {
  ASSERT_TRUE(client_.Patch<Node>("", "n1", PatchType::kMerge,
                                  *json::Parse(R"({"metadata":{"labels":{"disk":"ssd"}}})")));
  ASSERT_TRUE(client_.Patch<Node>("", "n1", PatchType::kMerge,
                                  *json::Parse(R"({"status":{"capacity":{"example.com/foo":"2"},
                                                             "allocatable":{"example.com/foo":"2"}}})"),
                                  {.subresource = "status"}));
  Pod labelled = MakePod("labelled");
  labelled.spec.node_selector = {{"disk", "ssd"}};
  labelled.spec.containers[0].resources.requests["example.com/foo"] = api::Quantity(2);
  labelled.spec.containers[0].resources.limits["example.com/foo"] = api::Quantity(2);
  labelled.spec.containers[0].resources.requests["example.com/unknown"] = api::Quantity(2);
  labelled.spec.containers[0].resources.limits["example.com/unknown"] = api::Quantity(2);
  Create(labelled);
  executor_.RunFor(2s);
  EXPECT_EQ(Get("labelled").status.phase, "Running") << Get("labelled").status.message;
  Pod second = labelled;
  second.metadata.name = "second";
  Create(second);
  executor_.RunFor(2s);
  EXPECT_EQ(Get("second").status.reason, "OutOfexample.com/foo");
}

TEST_F(NodeAgentTest, ResourcesChangeInPlaceOrByARestart) {
  Pod pod = MakePod("p");
  pod.spec.containers[0].resources.requests["cpu"] = api::Quantity(1);
  pod.spec.containers[0].resources.requests["memory"] = *api::Quantity::Parse("64Mi");
  pod.spec.containers[0].resize_policy = {{.resource_name = "cpu", .restart_policy = "NotRequired"},
                                          {.resource_name = "memory", .restart_policy = "RestartContainer"}};
  Create(pod);
  executor_.RunFor(2s);
  const auto resize = [&](const char* resource, const char* amount) {
    const json::Value requests = json::Object{{resource, amount}};
    const json::Value container =
        json::Object{{"name", "c"}, {"resources", json::Object{{"requests", requests}}}};
    const json::Value patch = json::Object{{"spec", json::Object{{"containers", json::Array{container}}}}};
    const auto done =
        client_.Of<Pod>().Patch("default", "p", PatchType::kStrategicMerge, patch, {.subresource = "resize"});
    ASSERT_TRUE(done) << done.error().ToString();
    executor_.RunFor(5s);
  };
  EXPECT_EQ(Get("p").status.container_statuses[0].resources->requests.at("cpu").ToString(), "1");
  resize("cpu", "2");
  pod = Get("p");
  EXPECT_EQ(pod.status.container_statuses[0].resources->requests.at("cpu").ToString(), "2");
  EXPECT_EQ(pod.status.container_statuses[0].allocated_resources.at("cpu").ToString(), "2");
  EXPECT_EQ(pod.status.container_statuses[0].restart_count, 0);
  EXPECT_EQ(pod.status.observed_generation, pod.metadata.generation);
  resize("memory", "128Mi");
  pod = Get("p");
  EXPECT_EQ(pod.status.container_statuses[0].resources->requests.at("memory").ToString(), "128Mi");
  EXPECT_EQ(pod.status.container_statuses[0].restart_count, 1);
  EXPECT_EQ(pod.status.phase, "Running");
}

TEST_F(NodeAgentTest, AnotherImageRestartsTheContainer) {
  Pod pod = MakePod("p");
  pod.spec.restart_policy = "Never";
  Create(pod);
  executor_.RunFor(2s);
  const json::Value container = json::Object{{"name", "c"}, {"image", "img:2"}};
  const json::Value patch = json::Object{{"spec", json::Object{{"containers", json::Array{container}}}}};
  ASSERT_TRUE(client_.Of<Pod>().Patch("default", "p", PatchType::kStrategicMerge, patch));
  executor_.RunFor(5s);
  const ContainerStatus status = Get("p").status.container_statuses.at(0);
  EXPECT_EQ(status.image, "img:2");
  EXPECT_EQ(status.restart_count, 1);
  EXPECT_TRUE(status.state.running);
  EXPECT_EQ(Events("Killing"), std::vector<std::string>{"Container c definition changed, will be restarted"});
}

TEST_F(NodeAgentTest, APodThatIsDeletedCanBeSeenToTerminate) {
  Create(MakePod("p"));
  executor_.RunFor(2s);
  ASSERT_TRUE(client_.Delete<Pod>("default", "p"));
  executor_.RunFor(500ms);
  ASSERT_TRUE(Exists("p"));
  EXPECT_TRUE(Get("p").metadata.deletion_timestamp);
  executor_.RunFor(2s);
  EXPECT_FALSE(Exists("p"));
}

TEST_F(NodeAgentTest, InitContainersEndAndImagesMayBeMissing) {
  Pod pod = MakePod("p");
  pod.spec.init_containers = {{.name = "i", .image = "img"}};
  Create(pod);
  Pod missing = MakePod("m");
  missing.spec.containers[0].image = "foo:non-existent";
  Create(missing);
  executor_.RunFor(6s);
  EXPECT_EQ(Get("p").status.phase, "Running");
  missing = Get("m");
  EXPECT_EQ(missing.status.phase, "Pending");
  EXPECT_EQ(missing.status.container_statuses[0].state.waiting->reason, "ImagePullBackOff");
}

}  // namespace
}  // namespace flyball::node
