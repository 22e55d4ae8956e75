// A node that runs short, on virtual time: the agent with the sim runtime and what a test says of the
// machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "node/agent/node_agent.h"
#include "node/runtime/sim_runtime.h"
#include "node/testing/api_fixture.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kOneMebi = 1 << 20;

class NodePressureTest : public ApiTest {
 protected:
  NodePressureTest() : containers_(NewSimRuntime(executor_, executor_.random())) {
    NodeAgentOptions options{.name = "n1", .capacity = SimCapacity()};
    options.reserved = {{"cpu", *api::Quantity::Parse("500m")}, {"memory", *api::Quantity::Parse("1Gi")}};
    options.eviction = *ParseEvictionThresholds("memory.available<100Mi");
    options.read_machine = [this](NodeStats& stats) { stats.memory_available = free_mebi_ * kOneMebi; };
    agent_ = std::make_unique<NodeAgent>(client_, *containers_, std::move(options));
    agent_->Start();
    executor_.RunFor(1s);
  }
  ~NodePressureTest() override {
    agent_->Stop();
    executor_.RunFor(1min);
    agent_.reset();
    containers_->Shutdown();
  }

  void Create(const std::string& name, const std::string& requested, const std::string& used) {
    Pod pod{.metadata = {.name = name, .namespace_ = "default", .annotations = {{kSimUsageMemory, used}}}};
    pod.spec.node_name = "n1";
    pod.spec.containers = {{.name = "c", .image = "img"}};
    if (!requested.empty())
      pod.spec.containers[0].resources.requests["memory"] = *api::Quantity::Parse(requested);
    const auto made = client_.Create(pod);
    ASSERT_TRUE(made) << made.error().ToString();
    executor_.RunFor(1s);
  }
  Pod Get(const std::string& name) {
    auto pod = client_.Get<Pod>("default", name);
    EXPECT_TRUE(pod) << pod.error().ToString();
    return pod ? *pod : Pod{};
  }
  NodeCondition Pressure() {
    const auto node = client_.Get<Node>("", "n1");
    for (const NodeCondition& condition : node->status.conditions)
      if (condition.type == "MemoryPressure") return condition;
    return {};
  }

  std::unique_ptr<ContainerRuntime> containers_;
  std::uint64_t free_mebi_ = 1000;
  std::unique_ptr<NodeAgent> agent_;
};

TEST_F(NodePressureTest, PodsMayHaveWhatIsNotReserved) {
  const auto node = client_.Get<Node>("", "n1");
  EXPECT_EQ(node->status.capacity.at("cpu").ToString(), "256");
  EXPECT_EQ(node->status.allocatable.at("cpu").ToString(), "255500m");
  // 1Ti without 1Gi and the 100Mi below which pods are evicted.
  EXPECT_EQ(node->status.allocatable.at("memory").ToString(),
            std::to_string(1024 * 1024 - 1024 - 100) + "Mi");
}

TEST_F(NodePressureTest, TheGreediestPodIsEvictedAndNoOtherIsTaken) {
  Create("modest", "200Mi", "100Mi");
  Create("greedy", "10Mi", "60Mi");
  executor_.RunFor(1min);
  EXPECT_EQ(Get("greedy").status.phase, "Running");
  EXPECT_EQ(Pressure().status, "False");

  free_mebi_ = 50;
  executor_.RunFor(12s);
  EXPECT_EQ(Pressure().status, "True");
  EXPECT_EQ(Pressure().reason, "KubeletHasInsufficientMemory");
  const Pod greedy = Get("greedy");
  EXPECT_EQ(greedy.status.phase, "Failed");
  EXPECT_EQ(greedy.status.reason, "Evicted");
  EXPECT_EQ(
      greedy.status.message,
      "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container c was "
      "using 60Mi, request is 10Mi, has larger consumption of memory. ");
  const auto& conditions = greedy.status.conditions;
  const auto target = std::find_if(conditions.begin(), conditions.end(), [](const PodCondition& condition) {
    return condition.type == "DisruptionTarget";
  });
  ASSERT_NE(target, conditions.end());
  EXPECT_EQ(target->reason, "TerminationByKubelet");
  EXPECT_EQ(Get("modest").status.phase, "Running") << "one at a time";

  free_mebi_ = 1000;
  executor_.RunFor(1min);
  Create("late", "", "1Mi");
  EXPECT_EQ(Get("late").status.reason, "Evicted");
  EXPECT_EQ(Get("late").status.message, "Pod was rejected: The node had condition: [MemoryPressure]. ");
  Create("asks", "1Mi", "1Mi");
  EXPECT_EQ(Get("asks").status.phase, "Running") << "what asks for something is taken";

  executor_.RunFor(5min);
  EXPECT_EQ(Pressure().status, "False");
  EXPECT_EQ(Get("modest").status.phase, "Running");
}

}  // namespace
}  // namespace flyball::node
