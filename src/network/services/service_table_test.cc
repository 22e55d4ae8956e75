#include "network/services/service_table.h"

#include <gmock/gmock.h>

#include "network/nft/nftables.h"
#include "network/services/service_chains.h"
#include "network/testing/objects.h"
#include "network/testing/own_namespace.h"

namespace flyball::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWeb[] = R"(
metadata: {name: web, namespace: default}
spec:
  type: ClusterIP
  clusterIP: 10.96.0.10
  clusterIPs: [10.96.0.10, "fd00:96::10"]
  ports: [{name: http, port: 80, protocol: TCP}]
)";

std::string SliceYaml(const std::string& addresses, const std::string& type = "IPv4") {
  std::string yaml = "metadata: {name: web-1, namespace: default}\naddressType: " + type +
                     "\nports: [{name: http, port: 8080, protocol: TCP}]\nendpoints:\n";
  std::string address;
  for (const char c : addresses + ",") {
    if (c != ',') {
      address += c;
      continue;
    }
    yaml += "- {addresses: [\"" + address + "\"], nodeName: node-1, conditions: {ready: true}}\n";
    address.clear();
  }
  return yaml;
}

ServiceRules RulesFor(const ServiceTable& table, std::string_view service, const std::string& slice,
                      const std::string& node = "elsewhere") {
  const Service object = ObjectFrom<Service>(service);
  EndpointSlices slices;
  if (!slice.empty()) slices.push_back(SharedFrom<EndpointSlice>(slice));
  const std::string key = object.metadata.namespace_ + "/" + object.metadata.name;
  return BuildServiceRules(object, slices, table.options(), {node, "zone-a"}, {}, table.RulesOf(key));
}

// Golden texts: what one change costs, and nothing else.
TEST(ServiceTableTest, RendersAServiceWithItsEndpoints) {
  ServiceTable table({});
  table.Update("default/web", RulesFor(table, kWeb, SliceYaml("10.1.0.5,10.1.0.6")));
  EXPECT_EQ(table.RenderChanges(),
            R"(add chain ip flyball-services tcp-pick-2
flush chain ip flyball-services tcp-pick-2
add rule ip flyball-services tcp-pick-2 dnat ip addr . port to ip daddr . tcp dport . numgen random mod 2 map @tcp-targets
add rule ip flyball-services tcp-pick-2 dnat ip addr . port to ip daddr . tcp dport . numgen random mod 1 map @tcp-targets
add element ip flyball-services cluster-ips {
10.96.0.10
}
add element ip flyball-services services {
10.96.0.10 . tcp . 80 : goto tcp-pick-2
}
add element ip flyball-services tcp-targets {
10.96.0.10 . 80 . 0 : 10.1.0.5 . 8080,
10.96.0.10 . 80 . 1 : 10.1.0.6 . 8080
}
)");
  EXPECT_EQ(table.RenderChanges(), "");
}

TEST(ServiceTableTest, AnEndpointThatComesOrGoesIsTwoElements) {
  ServiceTable table({});
  table.Update("default/web", RulesFor(table, kWeb, SliceYaml("10.1.0.5,10.1.0.6,10.1.0.7")));
  (void)table.RenderChanges();
  table.Update("default/web", RulesFor(table, kWeb, SliceYaml("10.1.0.5,10.1.0.7,10.1.0.4")));
  EXPECT_EQ(table.RenderChanges(), R"(delete element ip flyball-services tcp-targets {
10.96.0.10 . 80 . 1
}
add element ip flyball-services tcp-targets {
10.96.0.10 . 80 . 1 : 10.1.0.4 . 8080
}
)");
  table.Update("default/web", RulesFor(table, kWeb, ""));
  EXPECT_EQ(table.RenderChanges(), R"(delete element ip flyball-services services {
10.96.0.10 . tcp . 80
}
delete element ip flyball-services tcp-targets {
10.96.0.10 . 80 . 0,
10.96.0.10 . 80 . 1,
10.96.0.10 . 80 . 2
}
add element ip flyball-services refused {
10.96.0.10 . tcp . 80 : goto rejected
}
)");
}

// Kernels without SCTP take them, too.
TEST(ServiceTableTest, SctpHasRulesAsOthersHave) {
  std::string service = kWeb, slice = SliceYaml("10.1.0.5");
  service.replace(service.rfind("TCP"), 3, "SCTP");
  slice.replace(slice.find("TCP"), 3, "SCTP");
  ServiceTable table({});
  InOwnNamespace([&] {
    auto nft = std::move(*Nftables::Open());
    Status run = nft->Run(table.RenderReplacement(""));
    ASSERT_TRUE(run) << run.error().message();
    table.Update("default/web", RulesFor(table, service, slice));
    const std::string rules = table.RenderChanges();
    EXPECT_THAT(rules, HasSubstr("10.96.0.10 . sctp . 80 : goto sctp-pick-1"));
    EXPECT_THAT(
        rules,
        HasSubstr("dnat ip addr . port to ip daddr . sctp dport . numgen random mod 1 map @sctp-targets"));
    run = nft->Run(rules);
    EXPECT_TRUE(run) << run.error().message();
  });
}

TEST(ServiceTableTest, TargetsThatStayKeepTheirSlots) {
  const auto target = [](const char* ip) { return Target{*api::ParseIp(ip), 80}; };
  const Target a = target("10.0.0.1"), b = target("10.0.0.2"), c = target("10.0.0.3"), d = target("10.0.0.4");
  EXPECT_THAT(KeepSlots({a, b, c}, {a, c}), ElementsAre(a, c));
  EXPECT_THAT(KeepSlots({a, b, c}, {c, b}), ElementsAre(c, b));
  EXPECT_THAT(KeepSlots({a, b, c}, {b, c, d}), ElementsAre(d, b, c));
  EXPECT_THAT(KeepSlots({a}, {a, b}), ElementsAre(a, b));
  EXPECT_TRUE(KeepSlots({a, b}, {}).empty());
}

TEST(ServiceTableTest, APlaceGoesToTheNextServiceThatClaimsIt) {
  const auto named = [](const char* name, const char* ip) {
    return std::string("metadata: {namespace: default, name: ") + name + "}\nspec:\n  clusterIP: " + ip +
           "\n  externalIPs: [192.0.2.1]\n  ports: [{name: http, port: 80}]\n";
  };
  ServiceTable table({});
  table.Update("default/b", RulesFor(table, named("b", "10.96.0.2"), SliceYaml("10.1.0.2")));
  table.Update("default/a", RulesFor(table, named("a", "10.96.0.1"), SliceYaml("10.1.0.1")));
  EXPECT_THAT(table.RenderChanges(), HasSubstr("192.0.2.1 . 80 . 0 : 10.1.0.1 . 8080"));
  table.Update("default/a", {});
  EXPECT_THAT(table.RenderChanges(), HasSubstr("192.0.2.1 . 80 . 0 : 10.1.0.2 . 8080"));
}

constexpr char kEverything[] = R"(
metadata: {name: web, namespace: default}
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.10
  clusterIPs: [10.96.0.10, "fd00:96::10"]
  externalIPs: [192.0.2.7, "2001:db8::7"]
  externalTrafficPolicy: Local
  internalTrafficPolicy: Local
  healthCheckNodePort: 32000
  sessionAffinity: ClientIP
  sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}
  loadBalancerSourceRanges: ["10.0.0.0/8", " 10.1.0.0/16", "2001:db8::/32", nonsense]
  ports: [{name: http, port: 80, nodePort: 30080}, {name: dns, port: 53, protocol: UDP, nodePort: 30053}]
status: {loadBalancer: {ingress: [{ip: 198.51.100.9}, {ip: "2001:db8::9"}, {ip: 198.51.100.8, ipMode: Proxy}]}}
)";

// Every combination of features in both families is something that the kernel takes, from scratch, as a
// change, and as a replacement of what is there.
TEST(ServiceTableTest, TheKernelTakesWhateverIsRendered) {
  InOwnNamespace([] {
    auto nft = std::move(*Nftables::Open());
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      const bool v4 = family == IpFamily::kV4;
      const std::string slice =
          v4 ? SliceYaml("10.1.0.5,10.1.0.6") : SliceYaml("fd00:1::5,fd00:1::6", "IPv6");
      for (const char* policy : {"Cluster", "Local"})
        for (const char* affinity : {"ClientIP", "None"})
          for (const char* node : {"node-1", "elsewhere"}) {
            std::string yaml = kEverything;
            for (const char* which : {"external", "internal"})
              yaml.replace(yaml.find(std::string(which) + "TrafficPolicy: Local") + 23, 5, policy);
            yaml.replace(yaml.find("ClientIP"), 8, affinity);
            ServiceTableOptions options;
            options.family = family;
            options.local.cidrs = {*api::ParseCidr("10.1.0.0/16"), *api::ParseCidr("fd00:1::/64")};
            options.node_ports_everywhere = std::string(node) == "node-1";
            ServiceTable table(options);
            Status run = nft->Run(table.RenderReplacement(""));
            ASSERT_TRUE(run) << run.error().message();
            table.SetServiceNetworks({*api::ParseCidr("10.96.0.0/12"), *api::ParseCidr("fd00:96::/108")});
            table.SetNodePortAddresses({*api::ParseIp("192.0.2.1"), *api::ParseIp("2001:db8::1")});
            for (const std::string& endpoints : {slice, std::string(), slice}) {
              table.Update("default/web", RulesFor(table, yaml, endpoints, node));
              const std::string text = table.RenderChanges();
              run = nft->Run(text);
              ASSERT_TRUE(run) << run.error().message() << text;
            }
            const std::string present =
                *nft->QueryNames("list table " + std::string(v4 ? "ip" : "ip6") + " flyball-services");
            run = nft->Run(table.RenderReplacement(present));
            ASSERT_TRUE(run) << run.error().message();
            table.Update("default/web", {});
            ASSERT_TRUE(nft->Run(table.RenderChanges()));
            if (table.has_stale_chains()) {
              run = nft->Run(table.RenderStaleChains());
              ASSERT_TRUE(run) << run.error().message();
            }
            ASSERT_TRUE(nft->Run(table.RenderRemoval()));
          }
    }
  });
}

TEST(ServiceTableTest, ObjectsThatAreNotWhatTheyShouldBeChangeNothing) {
  ServiceTable table({});
  const char* odd[] = {
      "metadata: {name: 'x } ; flush ruleset', namespace: default}\nspec: {clusterIP: 10.96.0.1, ports: "
      "[{port: 80}]}",
      "metadata: {name: x, namespace: default}\nspec: {clusterIP: '10.96.0.1 }', ports: [{port: 80}]}",
      "metadata: {name: x, namespace: default}\nspec: {clusterIP: 10.96.0.1, ports: [{port: 70000}, {port: "
      "-1}, "
      "{port: 80, protocol: ICMP}, {port: 80, name: 'a\"b'}]}",
      "metadata: {name: x, namespace: default}\nspec: {clusterIP: None, ports: [{port: 80}]}",
      "metadata: {name: x, namespace: default}\nspec: {type: ExternalName, clusterIP: 10.96.0.1, ports: "
      "[{port: "
      "80}]}"};
  for (const char* yaml : odd) table.Update("default/x", RulesFor(table, yaml, SliceYaml("10.1.0.5")));
  EXPECT_EQ(table.RenderChanges(), "");

  table.Update("default/web",
               RulesFor(table, kWeb, SliceYaml("10.1.0.5 }; flush ruleset,fd00::1,0.0.0.0,10.1.0.9")));
  const std::string text = table.RenderChanges();
  EXPECT_THAT(text, HasSubstr("10.96.0.10 . 80 . 0 : 10.1.0.9 . 8080\n"));
  EXPECT_THAT(text, Not(HasSubstr("flush ruleset")));
}

TEST(ServiceTableTest, NetworksInsideOthersAreLeftOut) {
  EXPECT_EQ(CidrSetText({*api::ParseCidr("10.1.0.0/16"), *api::ParseCidr("10.0.0.0/8"),
                         *api::ParseCidr("192.0.2.77/24"), *api::ParseCidr("10.0.0.0/8")}),
            "10.0.0.0/8, 192.0.2.0/24");
}

}  // namespace
}  // namespace flyball::network
