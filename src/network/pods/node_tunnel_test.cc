#include "network/pods/node_tunnel.h"

#include <gtest/gtest.h>

#include "network/testing/small_network.h"

namespace flyball::network {
namespace {

constexpr std::uint32_t kMtu = 1450;

// A machine with a tunnel, which has `own` of the pods' range and leads to `other` at `peer`.
struct Tunneled {
  std::shared_ptr<Netlink> netlink;
  std::unique_ptr<NodeTunnel> tunnel;

  Tunneled(const NetworkNamespace::Ptr& ns, const std::string& address, const std::string& own,
           const std::string& peer, const std::string& other) {
    const Status made = ns->Run([&]() -> Status {
      FLYBALL_ASSIGN(netlink, Netlink::Open());
      FLYBALL_ASSIGN(tunnel, VxlanTunnel::Open(netlink, "tunnel", *api::ParseIp(address), kMtu));
      FLYBALL_TRY(tunnel->SetSource(*api::ParseIp(own)));
      FLYBALL_ASSIGN(const Route route, tunnel->RouteTo(*api::ParseCidr(other), {peer, peer}));
      return netlink->ReplaceRoute(route);
    });
    EXPECT_TRUE(made) << made.error().message();
  }
};

TEST(NodeTunnelTest, LeadsToAMachineOnNoLinkOfThisOne) {
  SmallNetwork network;
  const auto one = network.AddHost("one", {"192.0.2.2"}), two = network.AddHost("two", {"203.0.113.2"});
  const Tunneled from(one, "192.0.2.2", "10.1.0.0", "203.0.113.2", "10.1.1.0/24");
  const Tunneled to(two, "203.0.113.2", "10.1.1.0", "192.0.2.2", "10.1.0.0/24");
  AnsweringServer server(two, "two", "10.1.1.0", 80);
  EXPECT_EQ(AskOnce(one, "10.1.1.0", 80), "two 10.1.0.0");

  ASSERT_TRUE(from.tunnel->Forget(*api::ParseCidr("10.1.1.0/24"), {"203.0.113.2", "203.0.113.2"}));
  EXPECT_EQ(AskOnce(one, "10.1.1.0", 80, SOCK_STREAM, 0, 250), "timeout");
  // Again by another program, which finds the link.
  const Tunneled again(one, "192.0.2.2", "10.1.0.0", "203.0.113.2", "10.1.1.0/24");
  EXPECT_EQ(AskOnce(one, "10.1.1.0", 80), "two 10.1.0.0");
}

}  // namespace
}  // namespace flyball::network
