// WireguardTunnel: a NodeTunnel that encrypts.
#pragma once

#include "network/pods/node_tunnel.h"
#include "network/wireguard/wireguard.h"

namespace flyball::network {

// What packets grow by on their way: the headers of IPv4 or IPv6, UDP and WireGuard.
inline constexpr std::uint32_t kWireguardOverhead = 80;
inline constexpr std::uint16_t kWireguardPort = 51820;
// Of a Node: its public key, in base64.
inline constexpr char kWireguardKeyAnnotation[] = "network.flyball.dev/wireguard-public-key";

// Of a node, 32 bytes each.
struct WireguardKeys {
  std::string private_key, public_key;
};

// Thread-compatible. A peer may send what comes from the ranges of its node, and nothing else.
class WireguardTunnel final : public NodeTunnel {
 public:
  // The link `name`, in the namespace that `netlink` is of and the calling thread is in. BadRequest, naming
  // the flag, if the kernel has no WireGuard.
  static Result<std::unique_ptr<NodeTunnel>> Open(std::shared_ptr<Netlink> netlink, const std::string& name,
                                                  const WireguardKeys& keys, std::uint32_t mtu);
  Result<Route> RouteTo(const api::Cidr& range, const NodeWay& way) override;
  Status Forget(const api::Cidr& range, const NodeWay& way) override;
  std::string public_key() const override;

 private:
  WireguardTunnel(std::shared_ptr<Netlink> netlink, std::string name, std::unique_ptr<Wireguard> wireguard,
                  std::string public_key)
      : NodeTunnel(std::move(netlink), std::move(name)),
        wireguard_(std::move(wireguard)),
        public_key_(std::move(public_key)) {}

  const std::unique_ptr<Wireguard> wireguard_;
  const std::string public_key_;
};

}  // namespace flyball::network
