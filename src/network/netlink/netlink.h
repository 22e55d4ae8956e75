// Netlink: the links, addresses and routes of a network namespace (`ip link`, `ip address`, `ip route`).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/values/ip_address.h"
#include "base/values/result.h"
#include "network/netlink/netlink_socket.h"
#include "network/netlink/network_namespace.h"

namespace flyball::network {

struct Link {
  int index = 0;
  std::string name;
  std::string kind{};  // "bridge", "veth"; empty: hardware
  std::string mac{};   // the hardware address, six bytes
  std::uint32_t mtu = 0;
  int master = 0;  // the bridge that it is a port of; 0: none
  bool up = false, loopback = false;
};

struct LinkAddress {
  int link = 0;
  api::Cidr address;  // with its host bits
  bool global = false;
};

struct Route {
  api::Cidr destination;
  int link = 0;  // 0: what the gateway says
  std::optional<api::IpAddress> gateway{};
  std::optional<api::IpAddress> source{};  // that packets of this machine get
  bool on_link = false;                    // the gateway is reached there although no address says so
  std::uint8_t protocol = 0;               // who made it; kOurRoutes for those made here
};

// How we know routes of our own again ("proto 251" in `ip route`).
inline constexpr std::uint8_t kOurRoutes = 251;

// Of the namespace that the calling thread is in when it is opened. Thread-safe. Errors as NetlinkSocket::Do.
class Netlink {
 public:
  static Result<std::unique_ptr<Netlink>> Open();

  Result<std::vector<Link>> ListLinks();
  // NotFound if there is none of that name.
  Result<Link> FindLink(const std::string& name);
  Status AddBridge(const std::string& name, std::uint32_t mtu);
  // A pair of which the other end is in another namespace. The kernel chooses the hardware address of the
  // peer unless one is given, six bytes.
  Status AddVeth(const std::string& name, const std::string& peer, const NetworkNamespace& peer_namespace,
                 std::uint32_t mtu, const std::string& peer_mac = {});
  // A tunnel from `local`: who is where is said by SetTunnelPeer. The hardware address has six bytes.
  Status AddVxlan(const std::string& name, std::uint32_t id, std::uint16_t port, const api::IpAddress& local,
                  std::uint32_t mtu, const std::string& mac);
  // A tunnel whose keys and peers Wireguard sets. An error if the kernel has no such links.
  Status AddWireguard(const std::string& name, std::uint32_t mtu);
  // Nothing if there is none.
  Status DeleteLink(const std::string& name);
  Status SetUp(const std::string& name, bool up = true);
  // Makes it a port of the bridge.
  Status AddPort(const std::string& name, const std::string& bridge);

  Result<std::vector<LinkAddress>> ListAddresses();
  // Nothing if it is there.
  Status AddAddress(const std::string& link, const api::Cidr& address);
  // Nothing if it is not there.
  Status DeleteAddress(const std::string& link, const api::Cidr& address);

  // Who has that address on the link, for good (`ip neigh`). Deleting: nothing if it is not there.
  Status SetNeighbor(int link, const api::IpAddress& address, const std::string& mac);
  Status DeleteNeighbor(int link, const api::IpAddress& address);
  // Behind which machine a hardware address is that is reached by a tunnel (`bridge fdb`).
  Status SetTunnelPeer(int link, const std::string& mac, const api::IpAddress& machine);
  Status DeleteTunnelPeer(int link, const std::string& mac, const api::IpAddress& machine);

  // Of the main table.
  Result<std::vector<Route>> ListRoutes();
  Status ReplaceRoute(const Route& route);
  // Nothing if there is none.
  Status DeleteRoute(const Route& route);

 private:
  explicit Netlink(std::unique_ptr<NetlinkSocket> socket) : socket_(std::move(socket)) {}
  Status ChangeAddress(std::uint16_t type, std::uint16_t flags, const std::string& link,
                       const api::Cidr& address);

  const std::unique_ptr<NetlinkSocket> socket_;
};

}  // namespace flyball::network
