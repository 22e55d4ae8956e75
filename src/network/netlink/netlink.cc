#include "network/netlink/netlink.h"

#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cstring>

namespace flyball::network {
namespace {

constexpr std::uint16_t kCreate = NLM_F_CREATE | NLM_F_EXCL;

// The bytes of an address as the family has them.
std::string_view Bytes(const api::IpAddress& address) {
  const auto* bytes = reinterpret_cast<const char*>(address.bytes.data());
  return address.is_v4 ? std::string_view(bytes + 12, 4) : std::string_view(bytes, 16);
}

std::uint8_t FamilyOf(const api::IpAddress& address) {
  return address.is_v4 ? AF_INET : AF_INET6;
}

std::string TextOf(std::string_view bytes) {
  return std::string(bytes.substr(0, bytes.find('\0')));
}

template <typename Number>
Number NumberOf(std::string_view bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof(number)));
  return number;
}

ifinfomsg LinkHeader(int index = 0) {
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = index;
  return header;
}

std::optional<Link> ReadLink(const NetlinkReply& reply) {
  const auto* header = reply.body<ifinfomsg>();
  if (reply.type != RTM_NEWLINK || !header) return std::nullopt;
  Link link{.index = header->ifi_index, .name = {}};
  link.up = (header->ifi_flags & IFF_UP) != 0;
  link.loopback = (header->ifi_flags & IFF_LOOPBACK) != 0;
  for (const auto& [type, bytes] : reply.Attributes(sizeof(ifinfomsg))) {
    if (type == IFLA_IFNAME) link.name = TextOf(bytes);
    if (type == IFLA_ADDRESS) link.mac = std::string(bytes);
    if (type == IFLA_MTU) link.mtu = NumberOf<std::uint32_t>(bytes);
    if (type == IFLA_MASTER) link.master = NumberOf<int>(bytes);
    if (type != IFLA_LINKINFO) continue;
    const auto info = ParseAttributes(bytes);
    if (const auto kind = info.find(IFLA_INFO_KIND); kind != info.end()) link.kind = TextOf(kind->second);
  }
  return link;
}

// The request for a new link of that kind; what follows is in its data until EndKind.
class NewLink {
 public:
  NewLink(const std::string& name, const char* kind, std::uint32_t mtu, const std::string& mac = {})
      : message_(RTM_NEWLINK, kCreate) {
    message_.Body(LinkHeader()).AddText(IFLA_IFNAME, name);
    if (!mac.empty()) message_.Add(IFLA_ADDRESS, mac);
    if (mtu > 0) message_.AddNumber(IFLA_MTU, mtu);
    info_ = message_.BeginNested(IFLA_LINKINFO);
    message_.AddText(IFLA_INFO_KIND, kind);
    data_ = message_.BeginNested(IFLA_INFO_DATA);
  }
  NetlinkMessage& data() { return message_; }
  const NetlinkMessage& Finish() {
    message_.EndNested(data_);
    message_.EndNested(info_);
    return message_;
  }

 private:
  NetlinkMessage message_;
  std::size_t info_ = 0, data_ = 0;
};

rtmsg RouteHeader(const Route& route) {
  rtmsg header{};
  header.rtm_family = FamilyOf(route.destination.address);
  header.rtm_dst_len = static_cast<unsigned char>(route.destination.prefix);
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = route.protocol ? route.protocol : kOurRoutes;
  header.rtm_scope = route.gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
  header.rtm_type = RTN_UNICAST;
  if (route.on_link) header.rtm_flags |= RTNH_F_ONLINK;
  return header;
}

NetlinkMessage RouteMessage(std::uint16_t type, std::uint16_t flags, const Route& route) {
  NetlinkMessage message(type, flags);
  message.Body(RouteHeader(route));
  if (route.destination.prefix > 0) message.Add(RTA_DST, Bytes(route.destination.Network()));
  if (route.gateway) message.Add(RTA_GATEWAY, Bytes(*route.gateway));
  if (route.source) message.Add(RTA_PREFSRC, Bytes(*route.source));
  if (route.link > 0) message.AddNumber(RTA_OIF, route.link);
  return message;
}

std::optional<Route> ReadRoute(const NetlinkReply& reply) {
  const auto* header = reply.body<rtmsg>();
  if (reply.type != RTM_NEWROUTE || !header || header->rtm_table != RT_TABLE_MAIN ||
      header->rtm_type != RTN_UNICAST)
    return std::nullopt;
  Route route;
  route.protocol = header->rtm_protocol;
  route.destination.prefix = header->rtm_dst_len;
  route.destination.address = *AddressIn(std::string(header->rtm_family == AF_INET ? 4 : 16, '\0'));
  for (const auto& [type, bytes] : reply.Attributes(sizeof(rtmsg))) {
    if (type == RTA_DST)
      if (const auto address = AddressIn(bytes)) route.destination.address = *address;
    if (type == RTA_GATEWAY) route.gateway = AddressIn(bytes);
    if (type == RTA_PREFSRC) route.source = AddressIn(bytes);
    if (type == RTA_OIF) route.link = NumberOf<int>(bytes);
  }
  return route;
}

Status Unless(Reason harmless, Status done) {
  if (!done && done.error().Is(harmless)) return {};
  return done;
}

}  // namespace

Result<std::unique_ptr<Netlink>> Netlink::Open() {
  FLYBALL_ASSIGN(auto socket, NetlinkSocket::Open());
  return std::unique_ptr<Netlink>(new Netlink(std::move(socket)));
}

// ---- links ----

Result<std::vector<Link>> Netlink::ListLinks() {
  std::vector<Link> links;
  NetlinkMessage message(RTM_GETLINK, NLM_F_DUMP);
  message.Body(LinkHeader());
  FLYBALL_TRY(socket_->Ask(message, [&](const NetlinkReply& reply) {
    if (auto link = ReadLink(reply)) links.push_back(std::move(*link));
  }));
  return links;
}

Result<Link> Netlink::FindLink(const std::string& name) {
  std::optional<Link> found;
  NetlinkMessage message(RTM_GETLINK, 0);
  message.Body(LinkHeader()).AddText(IFLA_IFNAME, name);
  FLYBALL_TRY(socket_->Ask(message, [&](const NetlinkReply& reply) {
    if (auto link = ReadLink(reply)) found = std::move(*link);
  }));
  if (!found) return Unexpected(Error(Reason::kNotFound, "no link " + name));
  return *found;
}

Status Netlink::AddBridge(const std::string& name, std::uint32_t mtu) {
  NewLink link(name, "bridge", mtu);
  return socket_->Do(link.Finish());
}

Status Netlink::AddVeth(const std::string& name, const std::string& peer,
                        const NetworkNamespace& peer_namespace, std::uint32_t mtu,
                        const std::string& peer_mac) {
  NewLink link(name, "veth", mtu);
  const std::size_t other = link.data().BeginNested(VETH_INFO_PEER);
  link.data().Body(LinkHeader()).AddText(IFLA_IFNAME, peer);
  if (mtu > 0) link.data().AddNumber(IFLA_MTU, mtu);
  if (!peer_mac.empty()) link.data().Add(IFLA_ADDRESS, peer_mac);
  link.data().AddNumber(IFLA_NET_NS_FD, peer_namespace.fd());
  link.data().EndNested(other);
  return socket_->Do(link.Finish());
}

Status Netlink::AddVxlan(const std::string& name, std::uint32_t id, std::uint16_t port,
                         const api::IpAddress& local, std::uint32_t mtu, const std::string& mac) {
  NewLink link(name, "vxlan", mtu, mac);
  link.data().AddNumber(IFLA_VXLAN_ID, id);
  link.data().Add(local.is_v4 ? IFLA_VXLAN_LOCAL : IFLA_VXLAN_LOCAL6, Bytes(local));
  link.data().AddNumber(IFLA_VXLAN_PORT, static_cast<std::uint16_t>((port >> 8) | (port << 8)));
  link.data().AddNumber(IFLA_VXLAN_LEARNING, std::uint8_t{0});
  return socket_->Do(link.Finish());
}

Status Netlink::AddWireguard(const std::string& name, std::uint32_t mtu) {
  NewLink link(name, "wireguard", mtu);
  return socket_->Do(link.Finish());
}

Status Netlink::DeleteLink(const std::string& name) {
  NetlinkMessage message(RTM_DELLINK, 0);
  message.Body(LinkHeader()).AddText(IFLA_IFNAME, name);
  return Unless(Reason::kNotFound, socket_->Do(message));
}

Status Netlink::SetUp(const std::string& name, bool up) {
  ifinfomsg header = LinkHeader();
  header.ifi_change = IFF_UP;
  header.ifi_flags = up ? IFF_UP : 0;
  NetlinkMessage message(RTM_NEWLINK, 0);
  message.Body(header).AddText(IFLA_IFNAME, name);
  return socket_->Do(message);
}

Status Netlink::AddPort(const std::string& name, const std::string& bridge) {
  FLYBALL_ASSIGN(const Link master, FindLink(bridge));
  NetlinkMessage message(RTM_NEWLINK, 0);
  message.Body(LinkHeader()).AddText(IFLA_IFNAME, name).AddNumber(IFLA_MASTER, master.index);
  return socket_->Do(message);
}

// ---- addresses ----

Result<std::vector<LinkAddress>> Netlink::ListAddresses() {
  std::vector<LinkAddress> addresses;
  NetlinkMessage message(RTM_GETADDR, NLM_F_DUMP);
  message.Body(ifaddrmsg{});
  FLYBALL_TRY(socket_->Ask(message, [&](const NetlinkReply& reply) {
    const auto* header = reply.body<ifaddrmsg>();
    if (reply.type != RTM_NEWADDR || !header) return;
    const auto attributes = reply.Attributes(sizeof(ifaddrmsg));
    // Of a point-to-point link IFA_ADDRESS is the other end.
    auto own = attributes.find(IFA_LOCAL);
    if (own == attributes.end()) own = attributes.find(IFA_ADDRESS);
    if (own == attributes.end()) return;
    if (const auto address = AddressIn(own->second))
      addresses.push_back({static_cast<int>(header->ifa_index),
                           {*address, header->ifa_prefixlen},
                           header->ifa_scope == RT_SCOPE_UNIVERSE});
  }));
  return addresses;
}

Status Netlink::ChangeAddress(std::uint16_t type, std::uint16_t flags, const std::string& link,
                              const api::Cidr& address) {
  FLYBALL_ASSIGN(const Link found, FindLink(link));
  ifaddrmsg header{};
  header.ifa_family = FamilyOf(address.address);
  header.ifa_prefixlen = static_cast<unsigned char>(address.prefix);
  header.ifa_index = static_cast<unsigned>(found.index);
  // Nobody else has it: IPv6 need not look for duplicates first.
  if (!address.address.is_v4) header.ifa_flags = IFA_F_NODAD;
  NetlinkMessage message(type, flags);
  message.Body(header).Add(IFA_LOCAL, Bytes(address.address)).Add(IFA_ADDRESS, Bytes(address.address));
  return socket_->Do(message);
}

Status Netlink::AddAddress(const std::string& link, const api::Cidr& address) {
  return Unless(Reason::kAlreadyExists, ChangeAddress(RTM_NEWADDR, kCreate, link, address));
}

Status Netlink::DeleteAddress(const std::string& link, const api::Cidr& address) {
  return Unless(Reason::kNotFound, ChangeAddress(RTM_DELADDR, 0, link, address));
}

// ---- neighbors ----

namespace {

NetlinkMessage NeighborMessage(std::uint16_t type, std::uint16_t flags, int link,
                               const api::IpAddress& address, const std::string& mac, bool tunnel) {
  ndmsg header{};
  header.ndm_family = tunnel ? static_cast<std::uint8_t>(AF_BRIDGE) : FamilyOf(address);
  header.ndm_ifindex = link;
  header.ndm_state = NUD_PERMANENT;
  if (tunnel) header.ndm_flags = NTF_SELF;
  NetlinkMessage message(type, flags);
  message.Body(header).Add(NDA_DST, Bytes(address));
  if (!mac.empty()) message.Add(NDA_LLADDR, mac);
  return message;
}

}  // namespace

Status Netlink::SetNeighbor(int link, const api::IpAddress& address, const std::string& mac) {
  return socket_->Do(NeighborMessage(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, link, address, mac, false));
}

Status Netlink::DeleteNeighbor(int link, const api::IpAddress& address) {
  return Unless(Reason::kNotFound, socket_->Do(NeighborMessage(RTM_DELNEIGH, 0, link, address, {}, false)));
}

Status Netlink::SetTunnelPeer(int link, const std::string& mac, const api::IpAddress& machine) {
  return socket_->Do(NeighborMessage(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, link, machine, mac, true));
}

Status Netlink::DeleteTunnelPeer(int link, const std::string& mac, const api::IpAddress& machine) {
  return Unless(Reason::kNotFound, socket_->Do(NeighborMessage(RTM_DELNEIGH, 0, link, machine, mac, true)));
}

// ---- routes ----

Result<std::vector<Route>> Netlink::ListRoutes() {
  std::vector<Route> routes;
  NetlinkMessage message(RTM_GETROUTE, NLM_F_DUMP);
  message.Body(rtmsg{});
  FLYBALL_TRY(socket_->Ask(message, [&](const NetlinkReply& reply) {
    if (auto route = ReadRoute(reply)) routes.push_back(*route);
  }));
  return routes;
}

Status Netlink::ReplaceRoute(const Route& route) {
  return socket_->Do(RouteMessage(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, route));
}

Status Netlink::DeleteRoute(const Route& route) {
  return Unless(Reason::kNotFound, socket_->Do(RouteMessage(RTM_DELROUTE, 0, route)));
}

}  // namespace flyball::network
