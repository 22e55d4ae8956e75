#include "network/policy/policy_enforcer.h"

#include <gmock/gmock.h>

#include "base/run/executor.h"
#include "base/run/notification.h"
#include "client/testing/fake_api_server.h"
#include "network/testing/objects.h"
#include "network/testing/small_network.h"

namespace flyball::network {
namespace {

TEST(PolicyEnforcerTest, IsInEffectBeforeThePodsFirstPacket) {
  SmallNetwork network;
  const auto a = network.AddHost("pod-a", {"10.1.0.2"}), b = network.AddHost("pod-b", {"10.1.0.3"});
  AnsweringServer server(b, "b", "10.1.0.3", 80);
  ThreadPool machinery("machinery", 2), workers("worker", 2);
  Metrics metrics;
  Random random(3);
  const auto api = std::make_shared<flyball::testing::FakeApiServer>(machinery, random);
  const Runtime runtime{.executor = machinery, .random = random, .metrics = metrics, .workers = &workers};
  const auto put = [&](const std::string& collection, const std::string& yaml) {
    api->Put(collection, std::move(*json::ParseYaml(yaml)));
  };
  put("/api/v1/namespaces", "metadata: {name: default}");
  put("/apis/networking.k8s.io/v1/networkpolicies",
      "metadata: {namespace: default, name: closed}\nspec: {podSelector: {}, policyTypes: [Ingress]}");
  Manager manager(Client(std::make_shared<RestClient>(api, runtime)), {.name = "policies"});
  auto enforcer = PolicyEnforcer::Add(manager, {.node_name = "node-1", .ns = network.node()});
  ASSERT_TRUE(enforcer) << enforcer.error().message();
  ASSERT_TRUE(manager.Start());

  // No status of the pod says its address yet.
  const Pod pod =
      ObjectFrom<Pod>("metadata: {namespace: default, name: b, uid: u}\nspec: {nodeName: node-1}");
  EXPECT_TRUE((*enforcer)->Attach(pod, {"10.1.0.3"}));
  EXPECT_EQ(AskOnce(a, "10.1.0.3", 80, SOCK_STREAM, 0, 250), "timeout");

  put("/api/v1/pods",
      "metadata: {namespace: default, name: b, uid: u}\nspec: {nodeName: node-1}\nstatus: {podIP: 10.1.0.3}");
  api->Remove("/apis/networking.k8s.io/v1/networkpolicies", "default", "closed");
  const SteadyTime end = RealClock().Steady() + std::chrono::seconds(10);
  std::string answer;
  while (answer != "b 10.1.0.2" && RealClock().Steady() < end)
    answer = AskOnce(a, "10.1.0.3", 80, SOCK_STREAM, 0, 250);
  EXPECT_EQ(answer, "b 10.1.0.2");

  Notification<bool> stopped;
  manager.Stop([&] { stopped.Set(true); });
  stopped.Wait();
}

}  // namespace
}  // namespace flyball::network
