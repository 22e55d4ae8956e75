#include "network/wireguard/wireguard.h"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/wireguard.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>

namespace flyball::network {
namespace {

constexpr std::size_t kPeerV4Offset = 12;  // of the four bytes in IpAddress::bytes

std::string_view BytesOf(const api::IpAddress& address) {
  const auto* bytes = reinterpret_cast<const char*>(address.bytes.data());
  return address.is_v4 ? std::string_view(bytes + kPeerV4Offset, 4)
                       : std::string_view(bytes, address.bytes.size());
}

NetlinkMessage SetMessage(std::uint16_t family, const std::string& link) {
  NetlinkMessage message(family, 0);
  message.Body(genlmsghdr{.cmd = WG_CMD_SET_DEVICE, .version = WG_GENL_VERSION, .reserved = 0});
  message.AddText(WGDEVICE_A_IFNAME, link);
  return message;
}

void AddEndpoint(NetlinkMessage& message, const WireguardPeer& peer) {
  if (peer.machine.is_v4) {
    sockaddr_in endpoint{};
    endpoint.sin_family = AF_INET;
    endpoint.sin_port = htons(peer.port);
    std::memcpy(&endpoint.sin_addr, &peer.machine.bytes[kPeerV4Offset], sizeof endpoint.sin_addr);
    message.AddNumber(WGPEER_A_ENDPOINT, endpoint);
  } else {
    sockaddr_in6 endpoint{};
    endpoint.sin6_family = AF_INET6;
    endpoint.sin6_port = htons(peer.port);
    std::memcpy(&endpoint.sin6_addr, peer.machine.bytes.data(), sizeof endpoint.sin6_addr);
    message.AddNumber(WGPEER_A_ENDPOINT, endpoint);
  }
}

void AddRanges(NetlinkMessage& message, const std::vector<api::Cidr>& ranges) {
  const std::size_t all = message.BeginNested(WGPEER_A_ALLOWEDIPS | NLA_F_NESTED);
  for (const api::Cidr& range : ranges) {
    const std::size_t one = message.BeginNested(NLA_F_NESTED);
    const std::uint16_t family = range.address.is_v4 ? AF_INET : AF_INET6;
    message.AddNumber(WGALLOWEDIP_A_FAMILY, family);
    message.Add(WGALLOWEDIP_A_IPADDR, BytesOf(range.Network()));
    message.AddNumber(WGALLOWEDIP_A_CIDR_MASK, static_cast<std::uint8_t>(range.prefix));
    message.EndNested(one);
  }
  message.EndNested(all);
}

// Calls `fill` within the only one of the message's peers.
template <typename Fill>
void AddPeerTo(NetlinkMessage& message, const std::string& public_key, Fill fill) {
  const std::size_t peers = message.BeginNested(WGDEVICE_A_PEERS | NLA_F_NESTED);
  const std::size_t one = message.BeginNested(NLA_F_NESTED);
  message.Add(WGPEER_A_PUBLIC_KEY, public_key);
  fill();
  message.EndNested(one);
  message.EndNested(peers);
}

}  // namespace

NetlinkMessage WireguardDeviceMessage(std::uint16_t family, const std::string& link,
                                      const std::string& private_key, std::uint16_t port) {
  NetlinkMessage message = SetMessage(family, link);
  message.AddNumber(WGDEVICE_A_FLAGS, std::uint32_t{WGDEVICE_F_REPLACE_PEERS});
  message.Add(WGDEVICE_A_PRIVATE_KEY, private_key);
  message.AddNumber(WGDEVICE_A_LISTEN_PORT, port);
  return message;
}

NetlinkMessage WireguardPeerMessage(std::uint16_t family, const std::string& link,
                                    const WireguardPeer& peer) {
  NetlinkMessage message = SetMessage(family, link);
  AddPeerTo(message, peer.public_key, [&] {
    AddEndpoint(message, peer);
    AddRanges(message, peer.ranges);
  });
  return message;
}

NetlinkMessage WireguardRemoveMessage(std::uint16_t family, const std::string& link,
                                      const std::string& public_key) {
  NetlinkMessage message = SetMessage(family, link);
  AddPeerTo(message, public_key, [&] {
    message.AddNumber(WGPEER_A_FLAGS, std::uint32_t{WGPEER_F_REMOVE_ME | WGPEER_F_UPDATE_ONLY});
  });
  return message;
}

Result<std::unique_ptr<Wireguard>> Wireguard::Open() {
  FLYBALL_ASSIGN(auto socket, NetlinkSocket::Open(NETLINK_GENERIC));
  NetlinkMessage question(GENL_ID_CTRL, 0);
  question.Body(genlmsghdr{.cmd = CTRL_CMD_GETFAMILY, .version = 1, .reserved = 0});
  question.AddText(CTRL_ATTR_FAMILY_NAME, WG_GENL_NAME);
  std::optional<std::uint16_t> family;
  const Status asked = socket->Ask(question, [&](const NetlinkReply& reply) {
    const auto attributes = reply.Attributes(sizeof(genlmsghdr));
    const auto id = attributes.find(CTRL_ATTR_FAMILY_ID);
    std::uint16_t number = 0;
    if (id == attributes.end() || id->second.size() < sizeof number) return;
    std::memcpy(&number, id->second.data(), sizeof number);
    family = number;
  });
  if (!asked || !family) return Unexpected(Error(Reason::kNotFound, "the kernel has no WireGuard"));
  return std::unique_ptr<Wireguard>(new Wireguard(std::move(socket), *family));
}

Status Wireguard::SetDevice(const std::string& link, const std::string& private_key, std::uint16_t port) {
  return socket_->Do(WireguardDeviceMessage(family_, link, private_key, port));
}

Status Wireguard::AddPeer(const std::string& link, const WireguardPeer& peer) {
  return socket_->Do(WireguardPeerMessage(family_, link, peer));
}

Status Wireguard::RemovePeer(const std::string& link, const std::string& public_key) {
  return socket_->Do(WireguardRemoveMessage(family_, link, public_key));
}

}  // namespace flyball::network
