#include "network/pods/pod_network.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "network/pods/node_routes.h"
#include "network/pods/node_settings.h"
#include "network/pods/range_choice.h"
#include "network/testing/own_namespace.h"

namespace flyball::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Of this process: tests of others may run at the same time.
std::string TestName() {
  return NetworkName("/test/" + std::to_string(::getpid()));
}

PodNetworkOptions OptionsHere() {
  PodNetworkOptions options;
  options.node = {.node = "n1", .name = TestName(), .ns = *NetworkNamespace::Current(), .addresses = {}};
  options.cluster.pod_cidrs = {"10.244.0.0/16"};
  options.cluster.api_address = "10.95.0.1";
  return options;
}

std::unique_ptr<PodNetwork> OpenHere() {
  auto network = PodNetwork::Open(OptionsHere());
  EXPECT_TRUE(network) << network.error().message();
  return network ? std::move(*network) : nullptr;
}

Pod PodWith(const std::string& uid, int host_port = 0) {
  Pod pod{.metadata = {.name = uid, .uid = uid}};
  Container container{.name = "c"};
  if (host_port > 0) container.ports.push_back({.host_port = host_port, .container_port = 80});
  pod.spec.containers.push_back(container);
  return pod;
}

std::string IpOf(PodNetwork& network, const Pod& pod) {
  const auto attached = network.Attach(pod);
  EXPECT_TRUE(attached) << attached.error().message();
  return attached ? attached->ips.front() : "";
}

std::size_t LinksHere() {
  const auto netlink = Netlink::Open();
  const auto links = (*netlink)->ListLinks();
  return static_cast<std::size_t>(std::count_if(
      links->begin(), links->end(), [](const Link& link) { return link.name.starts_with(TestName()); }));
}

std::string RulesHere() {
  const auto nft = Nftables::Open();
  const auto rules = (*nft)->Query("list ruleset");
  return rules ? *rules : rules.error().message();
}

TEST(PodNetworkTest, GivesAPodAnAddressOfEachRange) {
  InOwnNamespace([] {
    const auto network = OpenHere();
    EXPECT_FALSE(network->UseCidrs({"fd20::/64"}));
    EXPECT_FALSE(network->has_cidrs());
    ASSERT_TRUE(network->UseCidrs({"10.244.3.0/24", "fd20::/64"}));
    const auto attached = network->Attach(PodWith("one"));
    ASSERT_TRUE(attached) << attached.error().message();
    const bool v6 = HasIpv6();
    const std::vector<std::string> both{"10.244.3.2", "fd20::2"}, first{"10.244.3.2"};
    EXPECT_EQ(attached->ips, v6 ? both : first);
    EXPECT_EQ(ReadSysctl("ipv6/conf/all/forwarding"), v6 ? "1" : "");
    EXPECT_EQ(RulesHere().find(ClosedChain(true)) != std::string::npos, v6);
    network->RemoveAll();
    EXPECT_EQ(ReadSysctl("ipv6/conf/all/forwarding"), v6 ? "0" : "");
  });
}

TEST(PodNetworkTest, GivesEachPodAnAddressAndTakesItBack) {
  InOwnNamespace([] {
    const auto network = OpenHere();
    EXPECT_FALSE(network->Attach(PodWith("early")));
    ASSERT_TRUE(network->UseCidrs({"10.244.3.0/24"}));
    EXPECT_EQ(IpOf(*network, PodWith("one")), "10.244.3.2");
    EXPECT_EQ(IpOf(*network, PodWith("two")), "10.244.3.3");
    EXPECT_EQ(IpOf(*network, PodWith("one")), "10.244.3.2");
    EXPECT_EQ(LinksHere(), 3u);
    network->Detach("one");
    EXPECT_EQ(LinksHere(), 2u);
    EXPECT_EQ(IpOf(*network, PodWith("three")), "10.244.3.4");
    network->RemoveAll();
    EXPECT_EQ(LinksHere(), 0u);
    EXPECT_EQ(RulesHere(), "");
    EXPECT_EQ(ReadSysctl("ipv4/ip_forward"), "0");
  });
}

TEST(PodNetworkTest, FindsWhatAnEarlierProgramHasLeft) {
  InOwnNamespace([] {
    {
      const auto earlier = OpenHere();
      ASSERT_TRUE(earlier->UseCidrs({"10.244.3.0/24"}));
      IpOf(*earlier, PodWith("stays"));
      IpOf(*earlier, PodWith("goes"));
    }
    const auto network = OpenHere();
    ASSERT_TRUE(network->UseCidrs({"10.244.3.0/24"}));
    EXPECT_EQ(LinksHere(), 3u);
    EXPECT_EQ(IpOf(*network, PodWith("new")), "10.244.3.4");
    network->KeepOnly({"stays"});
    EXPECT_EQ(LinksHere(), 3u);
    EXPECT_EQ(IpOf(*network, PodWith("stays")), "10.244.3.2");
    network->RemoveAll();
  });
}

TEST(PodNetworkTest, OpensHostPortsWhileThePodIsThere) {
  InOwnNamespace([] {
    const auto network = OpenHere();
    ASSERT_TRUE(network->UseCidrs({"10.244.3.0/24"}));
    IpOf(*network, PodWith("one", 8099));
    EXPECT_THAT(RulesHere(), HasSubstr("tcp . 8099 : 10.244.3.2 . 80"));
    // Another pod with the port is refused, and nothing of it is left.
    EXPECT_FALSE(network->Attach(PodWith("two", 8099)));
    EXPECT_EQ(LinksHere(), 2u);
    network->Detach("one");
    EXPECT_THAT(RulesHere(), Not(HasSubstr("8099")));
    network->RemoveAll();
  });
}

TEST(PodNetworkTest, OpensHostPortsOfEachProtocol) {
  InOwnNamespace([] {
    const auto network = OpenHere();
    ASSERT_TRUE(network->UseCidrs({"10.244.3.0/24"}));
    Pod pod = PodWith("one");
    for (const char* protocol : {"TCP", "UDP", "SCTP"})
      pod.spec.containers[0].ports.push_back({.host_port = 8099, .container_port = 80, .protocol = protocol});
    IpOf(*network, pod);
    for (const char* protocol : {"tcp", "udp", "sctp"})
      EXPECT_THAT(RulesHere(), HasSubstr(std::string(protocol) + " . 8099 : 10.244.3.2 . 80"));
    network->RemoveAll();
  });
}

TEST(PodNetworkTest, KeepsTheMachineFromBeingARouter) {
  InOwnNamespace([] {
    const auto network = OpenHere();
    ASSERT_TRUE(network->UseCidrs({"10.244.3.0/24"}));
    EXPECT_EQ(ReadSysctl("ipv4/ip_forward"), "1");
    EXPECT_THAT(RulesHere(), HasSubstr(ClosedChain(false)));
    network->RemoveAll();
    // It was one before: nothing is closed, and it stays one.
    SetSysctl("ipv4/ip_forward", "1");
    const auto again = OpenHere();
    ASSERT_TRUE(again->UseCidrs({"10.244.3.0/24"}));
    EXPECT_THAT(RulesHere(), Not(HasSubstr(ClosedChain(false))));
    again->RemoveAll();
    EXPECT_EQ(ReadSysctl("ipv4/ip_forward"), "1");
  });
}

std::shared_ptr<const Node> NodeAt(const std::string& name, const std::string& ip, const std::string& range) {
  auto node = std::make_shared<Node>();
  node->metadata.name = name;
  if (!range.empty()) node->spec.pod_cidrs = {range};
  node->status.addresses = {{.type = "Hostname", .address = name}, {.type = "InternalIP", .address = ip}};
  return node;
}

TEST(NodeRoutesTest, LeadToEveryOtherNode) {
  const std::vector<std::shared_ptr<const Node>> nodes = {NodeAt("a", "10.95.0.2", "10.244.0.0/24"),
                                                          NodeAt("b", "10.95.0.3", "10.244.1.0/24"),
                                                          NodeAt("new", "10.95.0.4", "")};
  EXPECT_THAT(RoutesFor("a", nodes),
              ElementsAre(std::pair("10.244.1.0/24", NodeWay{"10.95.0.3", "10.95.0.3"})));
  EXPECT_EQ(RoutesFor("", nodes).size(), 2u);
}

TEST(NodeRoutesTest, LeadToBothRangesOfANode) {
  auto node = std::make_shared<Node>(*NodeAt("b", "10.95.0.3", "10.244.1.0/24"));
  node->spec.pod_cidrs.push_back("fd00:10:244:1::/64");
  EXPECT_EQ(RoutesFor("a", {node}).size(), 1u) << "no way to it by IPv6";
  node->status.addresses.push_back({.type = "InternalIP", .address = "fd00:10:95::3"});
  const auto routes = RoutesFor("a", {node});
  EXPECT_EQ(routes.at("fd00:10:244:1::/64"), (NodeWay{"fd00:10:95::3", "10.95.0.3"}));
}

TEST(RangeChoiceTest, RefusesWhatIsNoRangeOfEachFamily) {
  for (const char* bad : {"", "x", "fd00::/56", "10.0.0.0/16,10.1.0.0/16", "10.0.0.0/16,fd00::/56,fd01::/56"})
    EXPECT_FALSE(ReserveRanges("/tmp", bad, kDefaultServiceCidr)) << bad;
  EXPECT_FALSE(ReserveRanges("/tmp", kDefaultPodCidr, "10.96.0.0/16,fd01::/112")) << "Services alone";
}

TEST(RangeChoiceTest, SeesOverlaps) {
  const auto range = [](const char* text) { return *api::ParseCidr(text); };
  EXPECT_TRUE(Overlap(range("10.244.0.0/16"), range("10.244.7.1/24")));
  EXPECT_TRUE(Overlap(range("10.244.7.0/24"), range("10.0.0.0/8")));
  EXPECT_FALSE(Overlap(range("10.244.0.0/16"), range("10.245.0.0/16")));
  EXPECT_FALSE(Overlap(range("10.244.0.0/16"), range("fd00::/8")));
}

TEST(RangeChoiceTest, NamesAClusterByItsFolder) {
  EXPECT_EQ(NetworkName("/a/b"), NetworkName("/a/b"));
  EXPECT_NE(NetworkName("/a/b"), NetworkName("/a/c"));
  EXPECT_EQ(NetworkName("/a/b").size(), 8u);
}

}  // namespace
}  // namespace flyball::network
