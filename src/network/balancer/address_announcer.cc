#include "network/balancer/address_announcer.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files/owned_fd.h"

namespace flyball::network {
namespace {

constexpr std::size_t kV4Offset = 12;  // of the four bytes in IpAddress::bytes

int HostBits(const api::IpAddress& address) {
  return address.is_v4 ? 32 : 128;
}

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

// "I have A, forget who had it" (RFC 4861, section 7.2.6): to all nodes of the link.
struct NeighborAdvertisement {
  nd_neighbor_advert advert{};
  nd_opt_hdr option{};
  unsigned char mac[ETH_ALEN] = {};
};

NeighborAdvertisement UnsolicitedAdvertisement(const std::string& mac, const api::IpAddress& address) {
  NeighborAdvertisement packet;
  packet.advert.nd_na_type = ND_NEIGHBOR_ADVERT;
  packet.advert.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
  std::memcpy(&packet.advert.nd_na_target, address.bytes.data(), address.bytes.size());
  packet.option.nd_opt_type = ND_OPT_TARGET_LINKADDR;
  packet.option.nd_opt_len = 1;  // of eight bytes
  std::memcpy(packet.mac, mac.data(), ETH_ALEN);
  return packet;
}

Status SendAdvertisement(const Link& link, const api::IpAddress& address) {
  // The kernel writes the checksum.
  const OwnedFd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
  constexpr int kHopLimit = 255;  // receivers ask for it: it comes from this link
  sockaddr_in6 from{}, to{};
  from.sin6_family = to.sin6_family = AF_INET6;
  to.sin6_scope_id = static_cast<std::uint32_t>(link.index);
  std::memcpy(&from.sin6_addr, address.bytes.data(), address.bytes.size());
  ::inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
  const NeighborAdvertisement packet = UnsolicitedAdvertisement(link.mac, address);
  const bool sent =
      fd && ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &kHopLimit, sizeof kHopLimit) == 0 &&
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &link.index, sizeof link.index) == 0 &&
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
      ::sendto(fd.get(), &packet, sizeof packet, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) > 0;
  if (!sent)
    return Unexpected(InternalError("cannot announce " + address.ToString() + " on " + link.name + ": " +
                                    std::strerror(errno)));
  return {};
}

}  // namespace

Result<std::unique_ptr<AddressAnnouncer>> AddressAnnouncer::Open(const std::string& link,
                                                                 const std::vector<AddressRange>& ranges) {
  FLYBALL_ASSIGN(auto netlink, Netlink::Open());
  FLYBALL_TRY(netlink->FindLink(link));
  FLYBALL_ASSIGN(const auto links, netlink->ListLinks());
  FLYBALL_ASSIGN(const auto addresses, netlink->ListAddresses());
  std::unique_ptr<AddressAnnouncer> made(new AddressAnnouncer(std::move(netlink), link));
  made->Find(ranges, links, addresses);
  return made;
}

AddressAnnouncer::~AddressAnnouncer() {
  for (const Present& present : present_)
    if (present.link != link_)
      (void)netlink_->DeleteAddress(present.link, {present.address, HostBits(present.address)});
}

void AddressAnnouncer::Find(const std::vector<AddressRange>& ranges, const std::vector<Link>& links,
                            const std::vector<LinkAddress>& addresses) {
  for (const LinkAddress& of : addresses) {
    const auto link =
        std::find_if(links.begin(), links.end(), [&](const Link& l) { return l.index == of.link; });
    const api::IpAddress& address = of.address.address;
    const bool may = link != links.end() && of.address.prefix == HostBits(address) &&
                     (link->name == link_ || !address.is_v4);
    if (may &&
        std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& r) { return r.Contains(address); }))
      present_.push_back({address, link->name});
  }
}

Status AddressAnnouncer::Update(const std::vector<api::IpAddress>& addresses) {
  for (const Present& present : std::vector<Present>(present_))
    if (!Has(addresses, present.address)) FLYBALL_TRY(Remove(present));
  for (const api::IpAddress& address : addresses) {
    const bool known = std::any_of(present_.begin(), present_.end(),
                                   [&](const Present& present) { return present.address == address; });
    if (!known) FLYBALL_TRY(Add(address));
  }
  return {};
}

Status AddressAnnouncer::Remove(const Present& present) {
  FLYBALL_TRY(netlink_->DeleteAddress(present.link, {present.address, HostBits(present.address)}));
  std::erase_if(present_, [&](const Present& other) { return other.address == present.address; });
  return {};
}

Status AddressAnnouncer::Add(const api::IpAddress& address) {
  FLYBALL_ASSIGN(const std::vector<Link> links, LinksOf(address));
  const std::string where = address.is_v4 || links.empty() ? link_ : links.front().name;
  FLYBALL_TRY(netlink_->AddAddress(where, {address, HostBits(address)}));
  present_.push_back({address, where});
  for (const Link& link : links) {
    if (address.is_v4) {
      FLYBALL_TRY(SendArp(link, address));
    } else if (link.name == where) {
      FLYBALL_TRY(SendAdvertisement(link, address));
    }
  }
  return {};
}

Result<std::vector<Link>> AddressAnnouncer::LinksOf(const api::IpAddress& address) {
  FLYBALL_ASSIGN(const auto addresses, netlink_->ListAddresses());
  FLYBALL_ASSIGN(const auto links, netlink_->ListLinks());
  std::vector<Link> found;
  for (const Link& link : links) {
    if (link.name == link_ || !link.up || link.mac.size() != ETH_ALEN) continue;
    const bool its_network = std::any_of(addresses.begin(), addresses.end(), [&](const LinkAddress& of) {
      return of.link == link.index && of.address.address.is_v4 == address.is_v4 &&
             of.address.prefix < HostBits(address) && of.address.Contains(address);
    });
    if (its_network) found.push_back(link);
  }
  return found;
}

}  // namespace flyball::network
