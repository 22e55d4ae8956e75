// The whole loop against the kernel: an API server, a node in a namespace, pods and strangers around it.
#include "network/services/service_proxy.h"

#include <gmock/gmock.h>

#include <set>

#include "base/run/executor.h"
#include "base/run/notification.h"
#include "client/testing/fake_api_server.h"
#include "json/yaml/yaml.h"
#include "network/services/proxy_server.h"
#include "network/testing/small_network.h"

namespace flyball::network {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kClusterIp[] = "10.96.0.10";

class ServiceProxyTest : public ::testing::Test {
 protected:
  ServiceProxyTest() {
    pod_a_ = network_.AddHost("pod-a", {"10.1.0.2"});
    pod_b_ = network_.AddHost("pod-b", {"10.1.0.3"});
    stranger_ = network_.AddHost("outside", {"192.0.2.9"}, {"192.0.2.1"});
    // The node's own packets to cluster IPs need some way before they are translated.
    const Status routed = network_.node()->Run([]() -> Status {
      FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
      FLYBALL_ASSIGN(const Link outside, netlink->FindLink("outside"));
      return netlink->ReplaceRoute({.destination = *api::ParseCidr("0.0.0.0/0"),
                                    .link = outside.index,
                                    .gateway = *api::ParseIp("192.0.2.9")});
    });
    EXPECT_TRUE(routed) << routed.error().message();
    Put("/api/v1/nodes",
        "metadata: {name: node-1}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.1}]}");
  }
  ~ServiceProxyTest() override { StopProxy(); }

  void StartProxy() {
    manager_ = std::make_unique<Manager>(client_, ManagerOptions{.name = "kube-proxy"});
    ServiceProxyOptions options;
    options.node_name = "node-1";
    options.ns = network_.node();
    options.local.cidrs = {*api::ParseCidr("10.1.0.0/16"), *api::ParseCidr("fd01::/64")};
    auto proxy = ServiceProxy::Add(*manager_, options);
    ASSERT_TRUE(proxy) << proxy.error().message();
    proxy_ = *proxy;
    ASSERT_TRUE(manager_->Start());
  }
  void StopProxy() {
    if (!manager_) return;
    Notification<bool> stopped;
    manager_->Stop([&] { stopped.Set(true); });
    stopped.Wait();
    manager_.reset();
    proxy_.reset();
  }

  void Put(const std::string& collection, const std::string& yaml) {
    auto object = json::ParseYaml(yaml);
    ASSERT_TRUE(object) << object.error().message();
    server_->Put(collection, std::move(*object));
  }
  void PutService(const std::string& more = {}, const std::string& protocol = "TCP") {
    Put("/api/v1/services",
        "metadata: {name: web, namespace: default}\nspec:\n  clusterIP: 10.96.0.10\n  ports: [{name: p, "
        "port: 80, "
        "nodePort: 30080, protocol: " +
            protocol + "}]\n" + more);
  }
  // Each endpoint: its address, and what follows in conditions.
  void PutSlice(const std::vector<std::pair<std::string, std::string>>& endpoints,
                const std::string& protocol = "TCP") {
    std::string yaml =
        "metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}\n"
        "addressType: IPv4\nports: [{name: p, port: 8080, protocol: " +
        protocol + "}]\nendpoints: [";
    for (const auto& [ip, conditions] : endpoints)
      yaml += "{addresses: [" + ip + "], nodeName: node-1, conditions: {" + conditions + "}}, ";
    Put("/apis/discovery.k8s.io/v1/endpointslices", yaml + "]");
  }
  // Asks until the answer is as wanted, for a few seconds.
  template <typename Ask, typename Matcher>
  void ExpectSoon(Ask ask, const Matcher& wanted) {
    const SteadyTime end = RealClock().Steady() + std::chrono::seconds(10);
    std::string last = ask();
    while (!::testing::Matches(wanted)(last) && RealClock().Steady() < end) last = ask();
    EXPECT_THAT(last, wanted);
  }
  template <typename Matcher>
  void Expect(const NetworkNamespace::Ptr& from, const std::string& ip, int port, const Matcher& wanted,
              int type = SOCK_STREAM) {
    ExpectSoon([&] { return AskOnce(from, ip, port, type, 0, 300); }, wanted);
  }
  // The proxy that was started last has brought the kernel up to date. Before that a connection may be
  // refused: the kernel puts new rules and new map elements into force one after the other.
  void ExpectApplied() {
    const auto state = [&] {
      const ProxyHealth health = proxy_->Health();
      return health.waiting_since || health.last_updated == TimePoint{} ? "waiting" : "applied";
    };
    ExpectSoon(state, std::string("applied"));
  }
  std::set<std::string> AskOften(const NetworkNamespace::Ptr& from, const std::string& ip, int port) {
    std::set<std::string> answers;
    for (int i = 0; i < 40; ++i) answers.insert(AskOnce(from, ip, port));
    return answers;
  }

  SmallNetwork network_;
  NetworkNamespace::Ptr pod_a_, pod_b_, stranger_;
  ThreadPool machinery_{"machinery", 2}, workers_{"worker", 2};
  Metrics metrics_;
  Random random_{7};
  std::shared_ptr<flyball::testing::FakeApiServer> server_ =
      std::make_shared<flyball::testing::FakeApiServer>(machinery_, random_);
  Runtime runtime_{.executor = machinery_, .random = random_, .metrics = metrics_, .workers = &workers_};
  Client client_{std::make_shared<RestClient>(server_, runtime_)};
  std::unique_ptr<Manager> manager_;
  std::shared_ptr<ServiceProxy> proxy_;
};

TEST_F(ServiceProxyTest, LeadsToTheEndpointsOfEachFamily) {
  const auto six = network_.AddHost("pod-six", {"fd01::2"}),
             other = network_.AddHost("pod-other", {"fd01::3"});
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080), b(six, "six", "fd01::2", 8080);
  Put("/api/v1/services",
      "metadata: {name: web, namespace: default}\nspec: {clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, "
      "'fd96::10'], ipFamilies: [IPv4, IPv6], ports: [{name: p, port: 80}]}");
  PutSlice({{"10.1.0.2", ""}});
  Put("/apis/discovery.k8s.io/v1/endpointslices",
      "metadata: {name: web-6, namespace: default, labels: {kubernetes.io/service-name: web}}\n"
      "addressType: IPv6\nports: [{name: p, port: 8080}]\nendpoints: [{addresses: ['fd01::2'], nodeName: "
      "node-1}]");
  StartProxy();
  Expect(pod_b_, kClusterIp, 80, "a 10.1.0.3");
  Expect(other, "fd96::10", 80, "six fd01::3");
  // Itself, by way of the node.
  EXPECT_EQ(AskOnce(six, "fd96::10", 80).substr(0, 4), "six ");
}

TEST_F(ServiceProxyTest, LeadsToTheEndpointsFromEverywhere) {
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080), b(pod_b_, "b", "10.1.0.3", 8080);
  PutService("  type: NodePort\n  externalIPs: [198.51.100.7]\n");
  PutSlice({{"10.1.0.2", ""}, {"10.1.0.3", ""}});
  StartProxy();

  Expect(pod_a_, kClusterIp, 80, "b 10.1.0.2");
  // A pod sees which pod asks; itself by way of the node, because it would not answer itself over the
  // network.
  EXPECT_THAT(AskOften(pod_a_, kClusterIp, 80), ElementsAre(HasSubstr("a 169.254.1.1"), "b 10.1.0.2"));
  // The node itself, and strangers, are masqueraded.
  EXPECT_EQ(AskOften(network_.node(), kClusterIp, 80).size(), 2u);
  EXPECT_EQ(AskOften(stranger_, "192.0.2.1", 30080).size(), 2u);
  EXPECT_EQ(AskOften(stranger_, "198.51.100.7", 80).size(), 2u);
  // Other ports of the cluster IP are closed at once.
  EXPECT_EQ(AskOnce(pod_a_, kClusterIp, 81), "refused");
}

TEST_F(ServiceProxyTest, RefusesWhereNobodyIsAndFollowsEndpoints) {
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080), b(pod_b_, "b", "10.1.0.3", 8080);
  PutService();
  StartProxy();
  Expect(stranger_, kClusterIp, 80, "refused");
  PutSlice({{"10.1.0.3", ""}});
  Expect(pod_a_, kClusterIp, 80, "b 10.1.0.2");
  PutSlice({{"10.1.0.2", ""}});
  Expect(pod_b_, kClusterIp, 80, "a 10.1.0.3");
  // One that ends serves while there is no other.
  PutSlice({{"10.1.0.3", "ready: false, serving: true, terminating: true"}});
  Expect(pod_a_, kClusterIp, 80, "b 10.1.0.2");
  PutSlice({{"10.1.0.3", "ready: false, serving: true, terminating: true"}, {"10.1.0.2", "ready: true"}});
  Expect(pod_b_, kClusterIp, 80, "a 10.1.0.3");
  server_->Remove("/apis/discovery.k8s.io/v1/endpointslices", "default", "web-1");
  Expect(pod_a_, kClusterIp, 80, "refused");
  server_->Remove("/api/v1/services", "default", "web");
  Expect(pod_a_, kClusterIp, 80, "timeout");
}

TEST_F(ServiceProxyTest, KeepsAClientWithItsEndpointAlsoAcrossRestarts) {
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080), b(pod_b_, "b", "10.1.0.3", 8080);
  PutService(
      "  sessionAffinity: ClientIP\n  sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}\n  type: "
      "NodePort\n");
  PutSlice({{"10.1.0.2", ""}, {"10.1.0.3", ""}});
  StartProxy();
  Expect(stranger_, "192.0.2.1", 30080, HasSubstr(" 169.254.1.1"));
  std::set<std::string> answers = AskOften(stranger_, "192.0.2.1", 30080);
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_THAT(*answers.begin(), HasSubstr(" 169.254.1.1"));
  StopProxy();
  PutSlice({{"10.1.0.2", ""}, {"10.1.0.3", ""}, {"10.1.0.4", "ready: false"}});
  StartProxy();
  ExpectApplied();
  EXPECT_EQ(AskOften(stranger_, "192.0.2.1", 30080), answers);
}

TEST_F(ServiceProxyTest, LocalPoliciesKeepTheSourceAndAnswerHealthChecks) {
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080);
  PutService(
      "  type: LoadBalancer\n  externalTrafficPolicy: Local\n  healthCheckNodePort: 31000\n"
      "  loadBalancerSourceRanges: [192.0.2.0/24]\nstatus: {loadBalancer: {ingress: [{ip: 198.51.100.9}]}}");
  PutSlice({{"10.1.0.2", ""}});
  StartProxy();
  Expect(stranger_, "192.0.2.1", 30080, "a 192.0.2.9");
  Expect(stranger_, "198.51.100.9", 80, "a 192.0.2.9");
  EXPECT_EQ(AskOnce(pod_b_, "198.51.100.9", 80, SOCK_STREAM, 0, 300), "timeout");  // not among the ranges
  // In the words of kube-proxy. The port is opened after the rules are there.
  const auto ask = [&] {
    return AskingSocket(stranger_, "192.0.2.1", 31000)
        .Ask("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  };
  ExpectSoon(ask, AllOf(HasSubstr("HTTP/1.1 200"), HasSubstr("\"localEndpoints\": 1")));
}

TEST_F(ServiceProxyTest, FlowsOfUdpMoveToAnEndpointThatIsThere) {
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080, SOCK_DGRAM), b(pod_b_, "b", "10.1.0.3", 8080, SOCK_DGRAM);
  PutService("", "UDP");
  PutSlice({{"10.1.0.2", ""}}, "UDP");
  StartProxy();
  Expect(stranger_, kClusterIp, 80, "a 169.254.1.1", SOCK_DGRAM);
  AskingSocket flow(stranger_, kClusterIp, 80, SOCK_DGRAM, 0, 2000);
  ASSERT_EQ(flow.Ask(), "a 169.254.1.1");
  PutSlice({{"10.1.0.3", ""}}, "UDP");
  ExpectSoon([&] { return flow.Ask(); }, "b 169.254.1.1");
}

TEST_F(ServiceProxyTest, MakesItsTableAgainWhenSomebodyHasDeletedIt) {
  AnsweringServer a(pod_a_, "a", "10.1.0.2", 8080), b(pod_b_, "b", "10.1.0.3", 8080);
  PutService();
  PutSlice({{"10.1.0.2", ""}});
  StartProxy();
  Expect(pod_b_, kClusterIp, 80, "a 10.1.0.3");
  const Status flushed = network_.node()->Run([] { return (*Nftables::Open())->Run("flush ruleset"); });
  ASSERT_TRUE(flushed);
  PutSlice({{"10.1.0.3", ""}});
  Expect(pod_a_, kClusterIp, 80, "b 10.1.0.2");
}

TEST_F(ServiceProxyTest, ServesItsStateAsKubeProxyDoes) {
  PutService();
  StartProxy();
  Expect(pod_a_, kClusterIp, 80, "refused");
  auto server = ProxyServer::Start("127.0.0.1:0", *proxy_, metrics_, RealClock());
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_GT((*server)->port(), 0);
  EXPECT_THAT(metrics_.Serialize(),
              HasSubstr("kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family=\"IPv4\"}"));
  EXPECT_TRUE(proxy_->healthy());
}

}  // namespace
}  // namespace flyball::network
