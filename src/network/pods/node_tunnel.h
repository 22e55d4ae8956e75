// NodeTunnel: a way to the pods of nodes that are not on a link of this one. Who is where is said by Node
// objects.
#pragma once

#include <memory>
#include <string>

#include "api/values/ip_address.h"
#include "base/values/result.h"
#include "network/netlink/netlink.h"

namespace flyball::network {

// Where a node is.
struct NodeWay {
  std::string gateway;  // of the destination's family
  std::string machine;  // of IPv4: the other end of a tunnel
  std::string key{};    // of WireGuard, in base64; empty: it has not said
  bool operator==(const NodeWay&) const = default;
};

// Thread-compatible. Between machines it is IPv4; what goes through it may be of both families.
class NodeTunnel {
 public:
  virtual ~NodeTunnel() = default;

  // The route to a range of a node, which is known to the tunnel from then on. ServiceUnavailable if the node
  // has not said all that is needed.
  virtual Result<Route> RouteTo(const api::Cidr& range, const NodeWay& way) = 0;
  // Nothing if it is unknown.
  virtual Status Forget(const api::Cidr& range, const NodeWay& way) = 0;
  // What this node has to say in its annotation kWireguardKeyAnnotation; empty: nothing.
  virtual std::string public_key() const { return {}; }

  // An address from which this node's own packets go through the tunnel, one a family.
  Status SetSource(const api::IpAddress& address);
  int link() const { return link_; }

 protected:
  NodeTunnel(std::shared_ptr<Netlink> netlink, std::string name)
      : netlink_(std::move(netlink)), name_(std::move(name)) {}
  // Reads its number, once it is there.
  Status FindLink();

  const std::shared_ptr<Netlink> netlink_;
  const std::string name_;

 private:
  int link_ = 0;
};

// What packets grow by on their way: the headers of IPv4, UDP, VXLAN and Ethernet.
inline constexpr std::uint32_t kVxlanOverhead = 50;
inline constexpr std::uint16_t kVxlanPort = 4789;
// All nodes of a cluster have the same; two clusters on one machine cannot both have a tunnel.
inline constexpr std::uint32_t kVxlanId = 251;

// VXLAN (RFC 7348), without multicast and without learning. Not encrypted.
class VxlanTunnel final : public NodeTunnel {
 public:
  // The link `name`, taken over if an earlier program has made it for the same address. In the namespace that
  // `netlink` is of.
  static Result<std::unique_ptr<NodeTunnel>> Open(std::shared_ptr<Netlink> netlink, const std::string& name,
                                                  const api::IpAddress& own, std::uint32_t mtu);
  Result<Route> RouteTo(const api::Cidr& range, const NodeWay& way) override;
  Status Forget(const api::Cidr& range, const NodeWay& way) override;

 private:
  using NodeTunnel::NodeTunnel;
};

}  // namespace flyball::network
