// NodeTunnel: a way to nodes that are not on a link of this one: VXLAN (RFC 7348), without multicast and
// without learning. Who is where is said by entries that come from Node objects.
#pragma once

#include <memory>
#include <string>

#include "api/values/ip_address.h"
#include "base/values/result.h"
#include "network/netlink/netlink.h"

namespace flyball::network {

// What packets grow by on their way: the headers of IPv4, UDP, VXLAN and Ethernet.
inline constexpr std::uint32_t kTunnelOverhead = 50;
inline constexpr std::uint16_t kTunnelPort = 4789;
// All nodes of a cluster have the same; two clusters on one machine cannot both have a tunnel.
inline constexpr std::uint32_t kTunnelId = 251;

// Thread-compatible. IPv4 only.
class NodeTunnel {
 public:
  // The link `name`, taken over if an earlier program has made it for the same address. In the namespace that
  // `netlink` is of.
  static Result<std::unique_ptr<NodeTunnel>> Open(std::shared_ptr<Netlink> netlink, const std::string& name,
                                                  const api::IpAddress& own, std::uint32_t mtu);

  // The address from which this node's own packets go through the tunnel.
  Status SetSource(const api::IpAddress& address);
  // From then on a route by way of the node's address on this link leads there.
  Status AddNode(const api::IpAddress& node);
  // Nothing if it is unknown.
  Status RemoveNode(const api::IpAddress& node);
  int link() const { return link_; }

 private:
  NodeTunnel(std::shared_ptr<Netlink> netlink, std::string name)
      : netlink_(std::move(netlink)), name_(std::move(name)) {}

  const std::shared_ptr<Netlink> netlink_;
  const std::string name_;
  int link_ = 0;
};

}  // namespace flyball::network
