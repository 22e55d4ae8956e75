#include "network/netlink/netlink.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "network/testing/own_namespace.h"

namespace flyball::network {
namespace {

using ::testing::Contains;
using ::testing::Field;

api::Cidr Block(const char* text) {
  return *api::ParseCidr(text);
}

std::string NamespacePath() {
  return "/run/netns/fbtest-" + std::to_string(::getpid());
}

TEST(NetlinkTest, ConnectsANamespaceByABridge) {
  InOwnNamespace([] {
    const std::string path = NamespacePath();
    const auto pod = NetworkNamespace::Create(path);
    ASSERT_TRUE(pod) << pod.error().message();
    const auto netlink = Netlink::Open();
    ASSERT_TRUE(netlink);
    ASSERT_TRUE((*netlink)->AddBridge("br", 1400));
    ASSERT_TRUE((*netlink)->AddAddress("br", Block("10.9.0.1/24")));
    ASSERT_TRUE((*netlink)->SetUp("br"));
    const Status made =
        (*netlink)->AddVeth("port", "eth0", **pod, 1400, std::string("\x0a\x58\x0a\x09\x00\x07", 6));
    ASSERT_TRUE(made) << made.error().message();
    const Status joined = (*netlink)->AddPort("port", "br");
    ASSERT_TRUE(joined) << joined.error().message();
    ASSERT_TRUE((*netlink)->SetUp("port"));

    const Status inside = (*pod)->Run([]() -> Status {
      FLYBALL_ASSIGN(const auto own, Netlink::Open());
      FLYBALL_TRY(own->AddAddress("eth0", Block("10.9.0.7/32")));
      FLYBALL_TRY(own->SetUp("eth0"));
      FLYBALL_ASSIGN(const Link eth0, own->FindLink("eth0"));
      EXPECT_EQ(eth0.mtu, 1400u);
      FLYBALL_TRY(own->ReplaceRoute({.destination = Block("0.0.0.0/0"),
                                     .link = eth0.index,
                                     .gateway = Block("10.9.0.1/32").address,
                                     .on_link = true}));
      FLYBALL_ASSIGN(const auto routes, own->ListRoutes());
      const auto ours = std::find_if(routes.begin(), routes.end(),
                                     [](const Route& r) { return r.destination.prefix == 0; });
      if (ours == routes.end()) return Unexpected(InternalError("no default route"));
      EXPECT_EQ(ours->gateway, Block("10.9.0.1/32").address);
      EXPECT_EQ(ours->protocol, kOurRoutes);
      return {};
    });
    EXPECT_TRUE(inside) << inside.error().message();

    const auto port = (*netlink)->FindLink("port");
    ASSERT_TRUE(port);
    EXPECT_EQ(port->kind, "veth");
    EXPECT_EQ(port->master, (*netlink)->FindLink("br")->index);
    EXPECT_TRUE(NetworkNamespace::Remove(path));
    EXPECT_TRUE((*netlink)->DeleteLink("port"));
  });
}

TEST(NetlinkTest, SaysWhatIsNotThere) {
  InOwnNamespace([] {
    const auto netlink = Netlink::Open();
    EXPECT_TRUE((*netlink)->FindLink("missing").error().Is(Reason::kNotFound));
    EXPECT_TRUE((*netlink)->DeleteLink("missing"));
    EXPECT_TRUE((*netlink)->DeleteRoute({.destination = Block("10.7.0.0/24")}));
    ASSERT_TRUE((*netlink)->AddBridge("br", 0));
    EXPECT_TRUE((*netlink)->AddBridge("br", 0).error().Is(Reason::kAlreadyExists));
    ASSERT_TRUE((*netlink)->AddAddress("br", Block("10.9.0.1/24")));
    EXPECT_TRUE((*netlink)->AddAddress("br", Block("10.9.0.1/24")));
  });
}

TEST(NetlinkTest, ListsAddressesAndRoutesOfBothFamilies) {
  InOwnNamespace([] {
    const auto netlink = Netlink::Open();
    ASSERT_TRUE((*netlink)->AddBridge("br", 0));
    ASSERT_TRUE((*netlink)->AddAddress("br", Block("10.9.0.1/24")));
    ASSERT_TRUE((*netlink)->AddAddress("br", Block("fd00:9::1/64")));
    ASSERT_TRUE((*netlink)->SetUp("br"));
    const int index = (*netlink)->FindLink("br")->index;
    ASSERT_TRUE((*netlink)->ReplaceRoute(
        {.destination = Block("10.8.0.0/24"), .gateway = Block("10.9.0.9/32").address}));

    std::vector<std::string> addresses, routes;
    const auto listed = (*netlink)->ListAddresses();
    ASSERT_TRUE(listed);
    for (const LinkAddress& of : *listed)
      if (of.link == index && of.global) addresses.push_back(of.address.address.ToString());
    EXPECT_THAT(addresses, ::testing::UnorderedElementsAre("10.9.0.1", "fd00:9::1"));
    const auto found = (*netlink)->ListRoutes();
    ASSERT_TRUE(found);
    for (const Route& route : *found)
      routes.push_back(route.destination.Network().ToString() + "/" +
                       std::to_string(route.destination.prefix));
    EXPECT_THAT(routes, Contains("10.8.0.0/24"));
    EXPECT_THAT(routes, Contains("10.9.0.0/24"));
    EXPECT_THAT(routes, Contains("fd00:9::/64"));
  });
}

TEST(NetworkNamespaceTest, StaysUntilItIsRemoved) {
  const std::string path = NamespacePath() + "-kept";
  EXPECT_TRUE(NetworkNamespace::Open(path).error().Is(Reason::kNotFound));
  ASSERT_TRUE(NetworkNamespace::Create(path));
  EXPECT_TRUE(NetworkNamespace::Create(path).error().Is(Reason::kAlreadyExists));
  const auto again = NetworkNamespace::Open(path);
  ASSERT_TRUE(again);
  const auto links = (*again)->Run([]() -> Result<std::vector<Link>> {
    FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
    return netlink->ListLinks();
  });
  ASSERT_TRUE(links);
  ASSERT_TRUE(std::any_of(links->begin(), links->end(), [](const Link& l) { return l.loopback && l.up; }));
  EXPECT_TRUE(NetworkNamespace::Remove(path));
  EXPECT_TRUE(NetworkNamespace::Remove(path));
  EXPECT_TRUE(NetworkNamespace::Open(path).error().Is(Reason::kNotFound));
}

}  // namespace
}  // namespace flyball::network
