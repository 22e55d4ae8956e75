#include "controllers/endpoints/service_backends.h"
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
    options.enabled = {"endpoints-controller", "endpointslice-controller",
                       "endpointslice-mirroring-controller", "garbage-collector-controller"};
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
      "{nodeName: n1, hostname: h, subdomain: web, containers: [{name: c, image: i, ports: [{name: http, "
      "containerPort: "
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

// The order that Kubernetes clusters show for their DNS service: by a digest, not by name or number.
TEST_F(EndpointsTest, PortsAreInTheOrderOfKubernetes) {
  plane_.Create(R"(
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  selector: {app: web}
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}, {name: metrics, port: 9153}]
)");
  MakePod("p1", "10.1.0.1", true);
  plane_.Run(1s);
  std::vector<std::string> in_slice, in_endpoints;
  const EndpointSlice slice = Slices().at(0);
  const Endpoints endpoints = plane_.Get<Endpoints>("default", "web");
  for (const EndpointSlicePort& port : slice.ports) in_slice.push_back(*port.name);
  for (const EndpointPort& port : endpoints.subsets.at(0).ports) in_endpoints.push_back(port.name);
  EXPECT_EQ(in_slice, (std::vector<std::string>{"metrics", "dns", "dns-tcp"}));
  EXPECT_EQ(in_endpoints, (std::vector<std::string>{"dns-tcp", "dns", "metrics"}));
}

// Subsets are made by port, not by pod: one for the port that all pods have, and one for the port that some
// have.
TEST_F(EndpointsTest, APortThatOnlySomePodsHaveIsASubsetOfItsOwn) {
  plane_.Create(R"(
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{name: all, port: 80, targetPort: 8000}, {name: some, port: 81, targetPort: http}]}
)");
  MakePod("p1", "10.1.0.1", true);
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: p2, namespace: default, labels: {app: web}}, spec: "
      "{nodeName: n1, containers: [{name: c, image: i}]}}");
  plane_.MergePatch<Pod>(
      "default", "p2",
      "status: {phase: Running, podIP: 10.1.0.2, conditions: [{type: Ready, status: 'True'}]}", "status");
  plane_.Run(1s);
  std::map<std::string, std::size_t> addresses;
  const Endpoints endpoints = plane_.Get<Endpoints>("default", "web");
  for (const EndpointSubset& subset : endpoints.subsets) {
    ASSERT_EQ(subset.ports.size(), 1u);
    addresses[subset.ports[0].name] = subset.addresses.size();
  }
  EXPECT_EQ(addresses, (std::map<std::string, std::size_t>{{"all", 2}, {"some", 1}}));
  EXPECT_EQ(Slices().size(), 2u) << "slices are made by the ports of pods";
}

// The server of these tests has addresses of one family only; other servers have both.
TEST(ServiceBackendsTest, EachFamilyHasTheAddressesOfItsOwn) {
  Service service;
  service.spec.ip_families = {"IPv6", "IPv4"};
  service.spec.ports.emplace_back().port = 80;
  const auto pod = [](const std::string& name, const std::vector<std::string>& ips) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->status.pod_ip = ips[0];
    for (const std::string& ip : ips) made->status.pod_ips.emplace_back().ip = ip;
    return made;
  };
  const std::vector<std::shared_ptr<const Pod>> pods = {pod("both", {"10.1.0.1", "fd00::1"}),
                                                        pod("one", {"10.1.0.2"})};
  EXPECT_EQ(FamiliesOf(service), (std::vector<std::string>{"IPv6", "IPv4"}));
  const auto addresses = [&](const char* family) {
    std::vector<std::string> out;
    for (const Backend& backend : BackendsOf(service, pods, family)) out.push_back(backend.address);
    return out;
  };
  EXPECT_EQ(addresses("IPv6"), std::vector<std::string>{"fd00::1"});
  EXPECT_EQ(addresses("IPv4"), (std::vector<std::string>{"10.1.0.1", "10.1.0.2"}));
}

TEST_F(EndpointsTest, TrafficDistributionBecomesHints) {
  plane_.Create(kService);
  plane_.MergePatch<Service>("default", "web", "spec: {trafficDistribution: PreferClose}");
  MakePod("p1", "10.1.0.1", true);
  plane_.Run(1s);
  const auto hints = Slices().at(0).endpoints.at(0).hints;
  ASSERT_TRUE(hints);
  EXPECT_EQ(hints->for_zones.at(0).name, "z1");
  plane_.MergePatch<Service>("default", "web", "spec: {trafficDistribution: null}");
  plane_.Run(1s);
  EXPECT_FALSE(Slices().at(0).endpoints.at(0).hints);
}

TEST_F(EndpointsTest, SlicesOfAnEarlierServiceAreReplaced) {
  plane_.Create(kService);
  MakePod("p1", "10.1.0.1", true);
  plane_.Run(1s);
  const std::string before = Slices().at(0).metadata.name;
  DeleteParams orphan;
  orphan.propagation_policy = "Orphan";
  ASSERT_TRUE(plane_.client->Delete<Service>("default", "web", orphan));
  plane_.Run(1s);
  ASSERT_EQ(Slices().size(), 1u);
  plane_.Create(kService);
  plane_.Run(1s);
  ASSERT_EQ(Slices().size(), 1u);
  EXPECT_NE(Slices()[0].metadata.name, before);
  EXPECT_EQ(Slices()[0].metadata.owner_references.size(), 1u);
}

constexpr char kOwnService[] =
    "{apiVersion: v1, kind: Service, metadata: {name: db, namespace: default}, spec: {ports: [{port: 80}]}}";
constexpr char kOwnEndpoints[] = R"(
apiVersion: v1
kind: Endpoints
metadata: {name: db, namespace: default, labels: {own: l}, annotations: {own: a}}
subsets:
- addresses: [{ip: 192.0.2.2, hostname: h}, {ip: 192.0.2.1, nodeName: n1}]
  notReadyAddresses: [{ip: 'fd00::9'}]
  ports: [{name: sql, port: 5432}]
)";

class MirrorTest : public EndpointsTest {
 protected:
  std::vector<EndpointSlice> Mirrors() {
    return plane_.List<EndpointSlice>("default", "kubernetes.io/service-name=db");
  }
};

TEST_F(MirrorTest, EndpointsWrittenByHandAreMirrored) {
  plane_.Create(kOwnEndpoints);
  plane_.Run(1s);
  EXPECT_TRUE(Mirrors().empty()) << "there is no Service";
  plane_.Create(kOwnService);
  plane_.Run(1s);
  std::vector<EndpointSlice> slices = Mirrors();
  ASSERT_EQ(slices.size(), 2u) << "one a family";
  if (slices[0].address_type != "IPv4") std::swap(slices[0], slices[1]);
  EXPECT_EQ(slices[0].metadata.labels,
            (std::map<std::string, std::string>{
                {"own", "l"},
                {"kubernetes.io/service-name", "db"},
                {"endpointslice.kubernetes.io/managed-by", "endpointslicemirroring-controller.k8s.io"}}));
  EXPECT_EQ(slices[0].metadata.annotations, (std::map<std::string, std::string>{{"own", "a"}}));
  EXPECT_EQ(slices[0].metadata.owner_references.at(0).kind, "Endpoints");
  EXPECT_EQ(slices[0].metadata.generate_name, "db-");
  ASSERT_EQ(slices[0].endpoints.size(), 2u);
  EXPECT_EQ(slices[0].endpoints[0].addresses.at(0), "192.0.2.1");
  EXPECT_EQ(slices[0].endpoints[0].node_name, "n1");
  EXPECT_EQ(slices[0].endpoints[1].hostname, "h");
  EXPECT_EQ(slices[0].endpoints[0].conditions.ready, true);
  EXPECT_FALSE(slices[0].endpoints[0].conditions.serving) << "nobody said";
  EXPECT_EQ(slices[0].ports.at(0).port, 5432);
  EXPECT_EQ(slices[1].endpoints.at(0).conditions.ready, false);
}

TEST_F(MirrorTest, MirrorsFollowTheirEndpoints) {
  plane_.Create(kOwnService);
  plane_.Create(kOwnEndpoints);
  plane_.Run(1s);
  ASSERT_EQ(Mirrors().size(), 2u);
  plane_.MergePatch<Endpoints>("default", "db",
                               "subsets: [{addresses: [{ip: 192.0.2.7}], ports: [{name: sql, port: 1}]}]");
  plane_.Run(1s);
  ASSERT_EQ(Mirrors().size(), 1u);
  EXPECT_EQ(Mirrors()[0].endpoints.at(0).addresses.at(0), "192.0.2.7");
  EXPECT_EQ(Mirrors()[0].ports.at(0).port, 1);
  plane_.MergePatch<Endpoints>("default", "db",
                               "metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: 'true'}}");
  plane_.Run(1s);
  EXPECT_TRUE(Mirrors().empty());
  plane_.MergePatch<Endpoints>("default", "db",
                               "metadata: {labels: {endpointslice.kubernetes.io/skip-mirror: null}}");
  plane_.Run(1s);
  EXPECT_EQ(Mirrors().size(), 1u);
  ASSERT_TRUE(plane_.client->Delete<Endpoints>("default", "db"));
  plane_.Run(1s);
  EXPECT_TRUE(Mirrors().empty());
}

TEST_F(MirrorTest, ASelectorEndsTheMirroring) {
  plane_.Create(kOwnService);
  plane_.Create(kOwnEndpoints);
  plane_.Run(1s);
  plane_.MergePatch<Service>("default", "db", "spec: {selector: {app: none}}");
  plane_.Run(1s);
  ASSERT_EQ(Mirrors().size(), 1u);
  EXPECT_EQ(Mirrors()[0].metadata.labels.at("endpointslice.kubernetes.io/managed-by"),
            "endpointslice-controller.k8s.io");
}

TEST_F(MirrorTest, OfASubsetAThousandAddressesAreMirrored) {
  plane_.Create(kOwnService);
  std::string yaml =
      "{apiVersion: v1, kind: Endpoints, metadata: {name: db, namespace: default}, subsets: [{addresses: [";
  for (int i = 0; i < 1003; ++i)
    yaml += "{ip: 10.2." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1) + "}, ";
  plane_.Create(yaml + "], ports: [{port: 80}]}]}");
  plane_.Run(2s);
  ASSERT_EQ(Mirrors().size(), 1u);
  EXPECT_EQ(Mirrors()[0].endpoints.size(), 1000u);
  EXPECT_EQ(plane_.EventsOf("default", "db").at(0),
            "Warning TooManyAddressesToMirror A max of 1000 addresses can be mirrored to EndpointSlices per "
            "Endpoints subset. 3 addresses were skipped");
}

TEST_F(EndpointsTest, APodOnNoNodeIsRefusedByTheServer) {
  plane_.Create(kService);
  plane_.Run(1s);
  plane_.Create(
      "{apiVersion: v1, kind: Pod, metadata: {name: p1, namespace: default, labels: {app: web}}, spec: "
      "{containers: [{name: c, image: i, ports: [{name: http, containerPort: 80}]}]}}");
  plane_.MergePatch<Pod>("default", "p1", "status: {podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}]}", "status");
  plane_.Run(1s);
  EXPECT_TRUE(plane_.Get<Endpoints>("default", "web").subsets.empty());
  EXPECT_NE(plane_.EventsOf("default", "web")
                .at(0)
                .find("Failed to update endpoint default/web: Endpoints \"web\" is invalid: "
                      "subsets[0].notReadyAddresses[0].nodeName: Invalid value: \"\":"),
            std::string::npos);
}

// The slice that it fits into and that is then the fullest; others stay unchanged.
TEST_F(EndpointsTest, ANewEndpointGoesToTheFullestSliceWithRoom) {
  plane_.Create(kService);
  for (int i = 0; i < 130; ++i) MakePod("p" + std::to_string(i), "10.1.1." + std::to_string(i + 1), true);
  plane_.Run(2s);
  const auto sizes = [this] {
    std::vector<std::size_t> out;
    for (const EndpointSlice& slice : Slices()) out.push_back(slice.endpoints.size());
    std::sort(out.begin(), out.end());
    return out;
  };
  ASSERT_EQ(sizes(), (std::vector<std::size_t>{30, 100}));
  DeleteParams now;
  now.grace_period_seconds = 0;
  const auto slices = Slices();
  const EndpointSlice& full = slices[0].endpoints.size() == 100 ? slices[0] : slices[1];
  ASSERT_TRUE(plane_.client->Delete<Pod>("default", full.endpoints[0].target_ref->name, now));
  plane_.Run(1s);
  ASSERT_EQ(sizes(), (std::vector<std::size_t>{30, 99}));
  MakePod("late", "10.1.2.1", true);
  plane_.Run(1s);
  EXPECT_EQ(sizes(), (std::vector<std::size_t>{30, 100}));
}

// Two zones, the second with `cpus` CPUs, and two ready pods in the first.
class TopologyHintsTest : public EndpointsTest {
 protected:
  void MakeZones(const std::string& cpus) {
    SetNode("n1", "4");
    plane_.Create(
        "{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {topology.kubernetes.io/zone: z2}}}");
    SetNode("n2", cpus);
    plane_.Create(kService);
    plane_.MergePatch<Service>("default", "web",
                               "metadata: {annotations: {service.kubernetes.io/topology-mode: Auto}}");
  }
  void SetNode(const std::string& name, const std::string& cpus) {
    plane_.MergePatch<Node>(
        "", name, "status: {allocatable: {cpu: '" + cpus + "'}, conditions: [{type: Ready, status: 'True'}]}",
        "status");
  }
  // How many endpoints each zone has, e.g. "z1=3 z2=1".
  std::string Hinted() {
    std::map<std::string, int> counts;
    const EndpointSlice slice = Slices().at(0);
    for (const Endpoint& endpoint : slice.endpoints)
      ++counts[endpoint.hints ? endpoint.hints->for_zones.at(0).name : "-"];
    std::string out;
    for (const auto& [zone, count] : counts)
      out += (out.empty() ? "" : " ") + zone + "=" + std::to_string(count);
    return out;
  }
};

TEST_F(TopologyHintsTest, ZonesAreGivenEndpointsByTheirShare) {
  MakeZones("4");
  for (int i = 1; i <= 4; ++i) MakePod("p" + std::to_string(i), "10.1.0." + std::to_string(i), true);
  plane_.Run(1s);
  EXPECT_EQ(Hinted(), "z1=2 z2=2") << "all of them are in z1";
  SetNode("n2", "12");
  plane_.Run(1s);
  EXPECT_EQ(Hinted(), "z1=1 z2=3");
  plane_.MergePatch<Service>("default", "web",
                             "metadata: {annotations: {service.kubernetes.io/topology-mode: null}}");
  plane_.Run(1s);
  EXPECT_EQ(Hinted(), "-=4");
  const auto events = plane_.EventsOf("default", "web");
  const auto told = [&](const std::string& event) {
    return std::count(events.begin(), events.end(), event + ", addressType: IPv4");
  };
  EXPECT_EQ(told("Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled"), 1);
  EXPECT_EQ(told("Warning TopologyAwareHintsDisabled Topology Aware Hints has been disabled"), 1);
}

TEST_F(TopologyHintsTest, NoneWhereSomebodyWouldBeOverloaded) {
  MakeZones("4");
  MakePod("p1", "10.1.0.1", true);
  plane_.Run(1s);
  EXPECT_EQ(Hinted(), "-=1");
  for (int i = 2; i <= 3; ++i) MakePod("p" + std::to_string(i), "10.1.0." + std::to_string(i), true);
  plane_.Run(1s);
  EXPECT_EQ(Hinted(), "-=3");
  SetNode("n2", "0");
  plane_.Run(1s);
  const auto events = plane_.EventsOf("default", "web");
  const auto told = [&](const std::string& why) {
    return std::count(events.begin(), events.end(),
                      "Warning TopologyAwareHintsDisabled " + why + ", addressType: IPv4");
  };
  EXPECT_EQ(told("Insufficient number of endpoints (1 endpoints, 2 zones)"), 1);
  EXPECT_EQ(told("Unable to allocate minimum required endpoints to each zone without exceeding overload "
                 "threshold (3 endpoints, 2 zones)"),
            1);
  EXPECT_EQ(told("Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"),
            1);
}

}  // namespace
}  // namespace flyball::controllers
