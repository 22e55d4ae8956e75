#include "network/pods/node_tunnel.h"

namespace flyball::network {
namespace {

constexpr std::size_t kMachineV4Offset = 12;  // of the four bytes in IpAddress::bytes

// Every node knows every other's without being told. Locally administered, not one of a pod.
std::string MacOf(const api::IpAddress& node) {
  std::string mac = {0x0a, 0x46};
  for (std::size_t i = kMachineV4Offset; i < node.bytes.size(); ++i) mac += static_cast<char>(node.bytes[i]);
  return mac;
}

}  // namespace

Status NodeTunnel::FindLink() {
  FLYBALL_ASSIGN(const Link link, netlink_->FindLink(name_));
  link_ = link.index;
  return {};
}

Status NodeTunnel::SetSource(const api::IpAddress& address) {
  return netlink_->AddAddress(name_, {address, address.is_v4 ? 32 : 128});
}

Result<std::unique_ptr<NodeTunnel>> VxlanTunnel::Open(std::shared_ptr<Netlink> netlink,
                                                      const std::string& name, const api::IpAddress& own,
                                                      std::uint32_t mtu) {
  if (!own.is_v4) return Unexpected(BadRequest("tunnels between nodes need addresses of IPv4"));
  std::unique_ptr<VxlanTunnel> tunnel(new VxlanTunnel(std::move(netlink), name));
  Netlink& links = *tunnel->netlink_;
  if (const auto before = links.FindLink(name); before && before->mac != MacOf(own))
    FLYBALL_TRY(links.DeleteLink(name));
  if (!links.FindLink(name)) FLYBALL_TRY(links.AddVxlan(name, kVxlanId, kVxlanPort, own, mtu, MacOf(own)));
  FLYBALL_TRY(links.SetUp(name));
  FLYBALL_TRY(tunnel->FindLink());
  return std::unique_ptr<NodeTunnel>(std::move(tunnel));
}

Result<Route> VxlanTunnel::RouteTo(const api::Cidr& range, const NodeWay& way) {
  const auto machine = api::ParseIp(way.machine), gateway = api::ParseIp(way.gateway);
  if (!machine || !gateway) return Unexpected(BadRequest("a node without an address of IPv4"));
  FLYBALL_TRY(netlink_->SetNeighbor(link(), *gateway, MacOf(*machine)));
  FLYBALL_TRY(netlink_->SetTunnelPeer(link(), MacOf(*machine), *machine));
  return Route{.destination = range, .link = link(), .gateway = gateway, .on_link = true};
}

Status VxlanTunnel::Forget(const api::Cidr&, const NodeWay& way) {
  const auto machine = api::ParseIp(way.machine), gateway = api::ParseIp(way.gateway);
  if (!machine || !gateway) return {};
  FLYBALL_TRY(netlink_->DeleteTunnelPeer(link(), MacOf(*machine), *machine));
  return netlink_->DeleteNeighbor(link(), *gateway);
}

}  // namespace flyball::network
