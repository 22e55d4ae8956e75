#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

constexpr char kService[] = R"(
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default, labels: {a: b}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
)";

class EndpointsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"endpoints-controller", "endpointslice-controller", "garbage-collector-controller"};
    plane_.StartControllers(options);
    plane_.Create(
        "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}}");
  }

  void MakePod(const std::string& name, const std::string& ip, bool ready, int port = 8080) {
    plane_.Create(
        "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
        ", namespace: default, labels: {app: web}}, spec: {nodeName: n1, containers: [{name: c, image: i, "
        "ports: [{name: http, containerPort: " +
        std::to_string(port) + "}]}]}}");
    plane_.MergePatch<Pod>("default", name,
                           "status: {phase: Running, podIP: " + ip + ", podIPs: [{ip: " + ip +
                               "}], conditions: [{type: Ready, status: '" + (ready ? "True" : "False") +
                               "'}]}",
                           "status");
  }
  std::vector<EndpointSlice> Slices() {
    return plane_.List<EndpointSlice>("default", "kubernetes.io/service-name=web");
  }
  testing::ControlPlane plane_;
};

TEST_F(EndpointsTest, ReadyAndNotReadyPods) {
  plane_.Create(kService);
  plane_.Run(1s);
  ASSERT_EQ(Slices().size(), 1u) << "an empty one, before there are pods";
  EXPECT_TRUE(Slices()[0].endpoints.empty());
  EXPECT_TRUE(plane_.Get<Endpoints>("default", "web").subsets.empty());
  MakePod("p1", "10.1.0.1", true);
  MakePod("p2", "10.1.0.2", false);
  plane_.Run(1s);
  ASSERT_EQ(Slices().size(), 1u);
  const EndpointSlice slice = Slices()[0];
  ASSERT_EQ(slice.endpoints.size(), 2u);
  EXPECT_EQ(slice.address_type, "IPv4");
  EXPECT_EQ(slice.ports.at(0).port, 8080);
  int ready = 0;
  for (const Endpoint& e : slice.endpoints) ready += e.conditions.ready.value_or(false);
  EXPECT_EQ(ready, 1);
  const Endpoints endpoints = plane_.Get<Endpoints>("default", "web");
  ASSERT_EQ(endpoints.subsets.size(), 1u);
  EXPECT_EQ(endpoints.subsets[0].addresses.at(0).ip, "10.1.0.1");
  EXPECT_EQ(endpoints.subsets[0].not_ready_addresses.at(0).ip, "10.1.0.2");
  EXPECT_EQ(endpoints.subsets[0].addresses.at(0).node_name, "n1");

  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "p1"));
  plane_.Run(1s);
  const EndpointSlice later = Slices()[0];
  for (const Endpoint& e : later.endpoints)
    if (e.target_ref->name == "p1") {
      EXPECT_FALSE(*e.conditions.ready);
      EXPECT_TRUE(*e.conditions.serving);
      EXPECT_TRUE(*e.conditions.terminating);
    }
  EXPECT_TRUE(plane_.Get<Endpoints>("default", "web").subsets[0].addresses.empty());
}

TEST_F(EndpointsTest, NamedPortsThatDifferAreDifferentSlices) {
  plane_.Create(kService);
  MakePod("p1", "10.1.0.1", true, 8080);
  MakePod("p2", "10.1.0.2", true, 9090);
  plane_.Run(1s);
  EXPECT_EQ(Slices().size(), 2u);
  EXPECT_EQ(plane_.Get<Endpoints>("default", "web").subsets.size(), 2u);
}

TEST_F(EndpointsTest, AHundredToASlice) {
  plane_.Create(kService);
  for (int i = 0; i < 130; ++i) MakePod("p" + std::to_string(i), "10.1.1." + std::to_string(i + 1), true);
  plane_.Run(2s);
  std::size_t total = 0;
  for (const EndpointSlice& slice : Slices()) {
    EXPECT_LE(slice.endpoints.size(), 100u);
    total += slice.endpoints.size();
  }
  EXPECT_EQ(total, 130u);
  EXPECT_EQ(Slices().size(), 2u);
  ASSERT_TRUE(plane_.client->Delete<Service>("default", "web"));
  plane_.Run(2s);
  EXPECT_TRUE(Slices().empty()) << "collected";
  EXPECT_FALSE(plane_.Exists<Endpoints>("default", "web"));
}

TEST_F(EndpointsTest, APodOnANodeThatIsNotThereWaits) {
  plane_.Create(kService);
  ASSERT_TRUE(plane_.client->Delete<Node>("", "n1"));
  MakePod("p1", "10.1.0.1", true);
  plane_.Run(1s);
  EXPECT_TRUE(Slices().at(0).endpoints.empty());
  EXPECT_EQ(plane_.Get<Endpoints>("default", "web").subsets.at(0).addresses.size(), 1u);
  EXPECT_EQ(plane_.EventsOf("default", "web").at(0),
            "Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: "
            "skipping Pod p1 for Service default/web: Node n1 Not Found");
  plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
  plane_.Run(1s);
  ASSERT_EQ(Slices().size(), 1u);
  EXPECT_EQ(Slices()[0].endpoints.at(0).addresses.at(0), "10.1.0.1");
}

TEST_F(EndpointsTest, ANameIsKeptWhenTheLastPodGoes) {
  plane_.Create(kService);
  MakePod("p1", "10.1.0.1", true);
  plane_.Run(1s);
  const std::string name = Slices().at(0).metadata.name;
  EXPECT_EQ(Slices()[0].endpoints.at(0).zone, "z1");
  EXPECT_TRUE(Slices()[0].metadata.annotations.contains("endpoints.kubernetes.io/last-change-trigger-time"));
  DeleteParams now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", "p1", now));
  plane_.Run(1s);
  ASSERT_EQ(Slices().size(), 1u);
  EXPECT_EQ(Slices()[0].metadata.name, name);
  EXPECT_TRUE(Slices()[0].endpoints.empty());
  EXPECT_TRUE(Slices()[0].ports.empty());
}

TEST_F(EndpointsTest, HeadlessPublishesWhoIsNotReadyWithNames) {
  plane_.Create(
      "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {clusterIP: None, "
      "publishNotReadyAddresses: true, selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: "
      "81, targetPort: http}]}}");
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, labels: {app: web}}, spec: "
      "{hostname: h, subdomain: web, containers: [{name: c, image: i, ports: [{name: http, containerPort: "
      "8080}]}]}}");
  plane_.MergePatch<Pod>("default", "p",
                         "status: {phase: Pending, podIP: 10.1.0.9, podIPs: [{ip: 10.1.0.9}]}", "status");
  plane_.Run(1s);
  const EndpointSlice slice = Slices().at(0);
  EXPECT_TRUE(slice.metadata.labels.contains("service.kubernetes.io/headless"));
  EXPECT_EQ(slice.endpoints.at(0).hostname, "h");
  EXPECT_TRUE(*slice.endpoints[0].conditions.ready);
  EXPECT_FALSE(*slice.endpoints[0].conditions.serving);
  EXPECT_EQ(slice.ports.size(), 2u);
  EXPECT_EQ(plane_.Get<Endpoints>("default", "web").subsets.at(0).addresses.at(0).hostname, "h");
}

TEST_F(EndpointsTest, OverAThousandAddressesAreCut) {
  for (int i = 0; i < 1010; ++i)
    MakePod("p" + std::to_string(i), "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1),
            i != 7);
  plane_.Create(kService);
  plane_.Run(5s);
  const Endpoints endpoints = plane_.Get<Endpoints>("default", "web");
  EXPECT_EQ(endpoints.metadata.annotations.at("endpoints.kubernetes.io/over-capacity"), "truncated");
  EXPECT_EQ(endpoints.subsets.at(0).addresses.size(), 1000u);
  EXPECT_TRUE(endpoints.subsets[0].not_ready_addresses.empty());
  EXPECT_GE(Slices().size(), 11u);
}

TEST_F(EndpointsTest, EndpointsOfNoServiceAreLeftAlone) {
  plane_.Create("{apiVersion: v1, kind: Endpoints, metadata: {name: own, namespace: default}}");
  plane_.Run(2s);
  EXPECT_TRUE(plane_.Exists<Endpoints>("default", "own"));
  plane_.Create(
      "{apiVersion: v1, kind: Service, metadata: {name: own, namespace: default}, spec: {ports: [{port: "
      "80}]}}");
  plane_.Run(1s);
  ASSERT_TRUE(plane_.client->Delete<Service>("default", "own"));
  plane_.Run(1s);
  EXPECT_FALSE(plane_.Exists<Endpoints>("default", "own")) << "they go with their Service";
}

}  // namespace
}  // namespace flyball::controllers
