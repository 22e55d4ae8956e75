#include "network/balancer/address_announcer.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/if_ether.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files/owned_fd.h"

namespace flyball::network {
namespace {

constexpr int kHostBits = 32;
constexpr std::size_t kV4Offset = 12;  // of the four bytes in IpAddress::bytes

bool Has(const std::vector<api::IpAddress>& addresses, const api::IpAddress& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

// "Who has A? Tell A", which neighbours take as news about A (RFC 5227, section 3).
ether_arp GratuitousArp(const std::string& mac, const api::IpAddress& address) {
  ether_arp packet{};
  packet.ea_hdr.ar_hrd = htons(ARPHRD_ETHER);
  packet.ea_hdr.ar_pro = htons(ETHERTYPE_IP);
  packet.ea_hdr.ar_hln = ETH_ALEN;
  packet.ea_hdr.ar_pln = sizeof packet.arp_spa;
  packet.ea_hdr.ar_op = htons(ARPOP_REQUEST);
  std::memcpy(packet.arp_sha, mac.data(), ETH_ALEN);
  std::memcpy(packet.arp_spa, &address.bytes[kV4Offset], sizeof packet.arp_spa);
  std::memcpy(packet.arp_tpa, packet.arp_spa, sizeof packet.arp_tpa);
  return packet;
}

Status SendArp(const Link& link, const api::IpAddress& address) {
  const OwnedFd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ARP)));
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_ARP);
  to.sll_ifindex = link.index;
  to.sll_halen = ETH_ALEN;
  std::memset(to.sll_addr, 0xff, ETH_ALEN);
  const ether_arp packet = GratuitousArp(link.mac, address);
  const auto sent = fd.get() < 0 ? -1
                                 : ::sendto(fd.get(), &packet, sizeof packet, 0,
                                            reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (sent < 0)
    return Unexpected(InternalError("cannot announce " + address.ToString() + " on " + link.name + ": " +
                                    std::strerror(errno)));
  return {};
}

}  // namespace

Result<std::unique_ptr<AddressAnnouncer>> AddressAnnouncer::Open(const std::string& link,
                                                                 const std::vector<AddressRange>& ranges) {
  FLYBALL_ASSIGN(auto netlink, Netlink::Open());
  FLYBALL_ASSIGN(const Link own, netlink->FindLink(link));
  FLYBALL_ASSIGN(const auto addresses, netlink->ListAddresses());
  std::unique_ptr<AddressAnnouncer> made(new AddressAnnouncer(std::move(netlink), link));
  for (const LinkAddress& of : addresses)
    for (const AddressRange& range : ranges)
      if (of.link == own.index && range.Contains(of.address.address)) {
        made->present_.push_back(of.address.address);
        break;
      }
  return made;
}

Status AddressAnnouncer::Update(const std::vector<api::IpAddress>& addresses) {
  for (const api::IpAddress& address : addresses)
    if (!address.is_v4)
      return Unexpected(BadRequest(address.ToString() + ": addresses of IPv6 are not announced"));
  const std::vector<api::IpAddress> before = present_;
  for (const api::IpAddress& address : before) {
    if (Has(addresses, address)) continue;
    FLYBALL_TRY(netlink_->DeleteAddress(link_, {address, kHostBits}));
    std::erase(present_, address);
  }
  for (const api::IpAddress& address : addresses) {
    if (Has(present_, address)) continue;
    FLYBALL_TRY(netlink_->AddAddress(link_, {address, kHostBits}));
    present_.push_back(address);
    FLYBALL_TRY(Announce(address));
  }
  return {};
}

// On the links whose network has the address; there are none if a router leads it here.
Status AddressAnnouncer::Announce(const api::IpAddress& address) {
  FLYBALL_ASSIGN(const auto addresses, netlink_->ListAddresses());
  FLYBALL_ASSIGN(const auto links, netlink_->ListLinks());
  for (const Link& link : links) {
    if (link.name == link_ || !link.up || link.mac.size() != ETH_ALEN) continue;
    const bool its_network = std::any_of(addresses.begin(), addresses.end(), [&](const LinkAddress& of) {
      return of.link == link.index && of.address.prefix < kHostBits && of.address.address.is_v4 &&
             of.address.Contains(address);
    });
    if (its_network) FLYBALL_TRY(SendArp(link, address));
  }
  return {};
}

}  // namespace flyball::network
