#include "network/balancer/address_announcer.h"

#include <gmock/gmock.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>

#include <algorithm>
#include <cstring>

#include "network/testing/small_network.h"

namespace flyball::network {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<std::string> AddressesHere() {
  std::vector<std::string> texts;
  for (const LinkAddress& of : *(*Netlink::Open())->ListAddresses())
    texts.push_back(of.address.address.ToString());
  return texts;
}

std::vector<api::IpAddress> Ips(const std::vector<std::string>& texts) {
  std::vector<api::IpAddress> ips;
  for (const std::string& text : texts) ips.push_back(*api::ParseIp(text));
  return ips;
}

// All ARP packets that arrive in a namespace.
int ArpSocket(const NetworkNamespace::Ptr& ns) {
  int fd = -1;
  (void)ns->Run([&]() -> Status {
    fd = ::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ARP));
    const timeval patience{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return {};
  });
  return fd;
}

// Whose address the next packet is about, with that target: 14 is the sender's, 24 the target's.
std::string NextArp(int fd) {
  unsigned char packet[64] = {};
  if (::recv(fd, packet, sizeof packet, 0) < 28) return "none";
  const auto text = [&](int at) {
    std::string ip;
    for (int i = at; i < at + 4; ++i) ip += (ip.empty() ? "" : ".") + std::to_string(packet[i]);
    return ip;
  };
  return text(14) + " asks for " + text(24);
}

TEST(AddressAnnouncerTest, MakesAddressesTheMachinesOwnAndTellsTheLink) {
  SmallNetwork network;
  const auto neighbor = network.AddHost("outside", {"192.0.2.9"});
  const auto ranges = *ParseAddressRanges("192.0.2.16/29");
  const Status done = network.node()->Run([&]() -> Status {
    FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
    FLYBALL_TRY(netlink->AddBridge("cluster", 0));
    FLYBALL_TRY(netlink->AddAddress("outside", *api::ParseCidr("192.0.2.1/24")));
    FLYBALL_ASSIGN(const auto announcer, AddressAnnouncer::Open("cluster", ranges));
    const int heard = ArpSocket(neighbor);
    FLYBALL_TRY(announcer->Update(Ips({"192.0.2.16", "192.0.2.17"})));
    EXPECT_EQ(NextArp(heard), "192.0.2.16 asks for 192.0.2.16");
    EXPECT_EQ(NextArp(heard), "192.0.2.17 asks for 192.0.2.17");
    ::close(heard);
    EXPECT_THAT(AddressesHere(), Contains("192.0.2.17"));
    FLYBALL_TRY(announcer->Update(Ips({"192.0.2.16"})));
    EXPECT_THAT(AddressesHere(), Not(Contains("192.0.2.17")));
    // The next program knows them, and nothing else of the machine's.
    FLYBALL_ASSIGN(const auto next, AddressAnnouncer::Open("cluster", ranges));
    FLYBALL_TRY(next->Update({}));
    EXPECT_THAT(AddressesHere(), Not(Contains("192.0.2.16")));
    EXPECT_THAT(AddressesHere(), Contains("192.0.2.1"));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
}

// All neighbor advertisements that arrive in a namespace.
int AdvertisementSocket(const NetworkNamespace::Ptr& ns) {
  int fd = -1;
  (void)ns->Run([&]() -> Status {
    fd = ::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
    const timeval patience{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    icmp6_filter filter;
    ICMP6_FILTER_SETBLOCKALL(&filter);
    ICMP6_FILTER_SETPASS(ND_NEIGHBOR_ADVERT, &filter);
    ::setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
    return {};
  });
  return fd;
}

// Which address the next one is about that nobody asked for, and whether it overrides what is known.
std::string NextAdvertisement(int fd) {
  nd_neighbor_advert advert{};
  do {
    if (::recv(fd, &advert, sizeof advert, 0) < static_cast<ssize_t>(sizeof advert)) return "none";
  } while (advert.nd_na_flags_reserved & ND_NA_FLAG_SOLICITED);
  api::IpAddress address;
  std::memcpy(address.bytes.data(), &advert.nd_na_target, address.bytes.size());
  return address.ToString() + (advert.nd_na_flags_reserved & ND_NA_FLAG_OVERRIDE ? " overrides" : "");
}

TEST(AddressAnnouncerTest, TellsTheLinkOfIpv6ByAdvertisements) {
  SmallNetwork network;
  const auto neighbor = network.AddHost("outside", {"192.0.2.9", "2001:db8::9"});
  const auto ranges = *ParseAddressRanges("2001:db8::10-2001:db8::1f");
  const Status done = network.node()->Run([&]() -> Status {
    FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
    FLYBALL_TRY(netlink->AddBridge("cluster", 0));
    FLYBALL_TRY(netlink->AddAddress("outside", *api::ParseCidr("2001:db8::1/64")));
    FLYBALL_ASSIGN(auto announcer, AddressAnnouncer::Open("cluster", ranges));
    const int heard = AdvertisementSocket(neighbor);
    FLYBALL_TRY(announcer->Update(Ips({"2001:db8::16"})));
    EXPECT_EQ(NextAdvertisement(heard), "2001:db8::16 overrides");
    ::close(heard);
    FLYBALL_ASSIGN(const Link outside, netlink->FindLink("outside"));
    FLYBALL_ASSIGN(const auto addresses, netlink->ListAddresses());
    EXPECT_TRUE(std::any_of(addresses.begin(), addresses.end(), [&](const LinkAddress& of) {
      return of.link == outside.index && of.address.address == *api::ParseIp("2001:db8::16");
    })) << "on that link, for which the kernel answers then";
    // One of no network here is led by routers.
    FLYBALL_TRY(announcer->Update(Ips({"2001:db8::16", "2001:db9::1"})));
    EXPECT_THAT(AddressesHere(), Contains("2001:db9::1"));
    announcer.reset();
    EXPECT_THAT(AddressesHere(), Not(Contains("2001:db8::16")));
    EXPECT_THAT(AddressesHere(), Contains("2001:db8::1"));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace flyball::network
