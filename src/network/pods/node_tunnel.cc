#include "network/pods/node_tunnel.h"

namespace flyball::network {
namespace {

constexpr int kHostBits = 32;
constexpr std::size_t kV4Offset = 12;  // of the four bytes in IpAddress::bytes

// Every node knows every other's without being told. Locally administered, not one of a pod.
std::string MacOf(const api::IpAddress& node) {
  std::string mac = {0x0a, 0x46};
  for (std::size_t i = kV4Offset; i < node.bytes.size(); ++i) mac += static_cast<char>(node.bytes[i]);
  return mac;
}

}  // namespace

Result<std::unique_ptr<NodeTunnel>> NodeTunnel::Open(std::shared_ptr<Netlink> netlink,
                                                     const std::string& name, const api::IpAddress& own,
                                                     std::uint32_t mtu) {
  if (!own.is_v4) return Unexpected(BadRequest("tunnels between nodes need addresses of IPv4"));
  std::unique_ptr<NodeTunnel> tunnel(new NodeTunnel(std::move(netlink), name));
  Netlink& links = *tunnel->netlink_;
  if (const auto before = links.FindLink(name); before && before->mac != MacOf(own))
    FLYBALL_TRY(links.DeleteLink(name));
  if (!links.FindLink(name)) FLYBALL_TRY(links.AddVxlan(name, kTunnelId, kTunnelPort, own, mtu, MacOf(own)));
  FLYBALL_TRY(links.SetUp(name));
  FLYBALL_ASSIGN(const Link link, links.FindLink(name));
  tunnel->link_ = link.index;
  return tunnel;
}

Status NodeTunnel::SetSource(const api::IpAddress& address) {
  return netlink_->AddAddress(name_, {address, kHostBits});
}

Status NodeTunnel::AddNode(const api::IpAddress& node) {
  FLYBALL_TRY(netlink_->SetNeighbor(link_, node, MacOf(node)));
  return netlink_->SetTunnelPeer(link_, MacOf(node), node);
}

Status NodeTunnel::RemoveNode(const api::IpAddress& node) {
  FLYBALL_TRY(netlink_->DeleteTunnelPeer(link_, MacOf(node), node));
  return netlink_->DeleteNeighbor(link_, node);
}

}  // namespace flyball::network
