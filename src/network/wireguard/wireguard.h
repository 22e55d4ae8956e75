// Wireguard: the peers of a WireGuard link (`wg set`), by generic netlink.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/values/ip_address.h"
#include "base/values/result.h"
#include "network/netlink/netlink_message.h"
#include "network/netlink/netlink_socket.h"

namespace flyball::network {

// Keys have 32 bytes.
struct WireguardPeer {
  std::string public_key;
  api::IpAddress machine;  // where it is
  std::uint16_t port = 0;
  std::vector<api::Cidr> ranges;  // whose packets it sends and gets, besides those it has already
};

// Thread-safe.
class Wireguard {
 public:
  // In the namespace that the calling thread is in. NotFound if the kernel has no WireGuard.
  static Result<std::unique_ptr<Wireguard>> Open();

  // Of a link that is there. It loses all peers.
  Status SetDevice(const std::string& link, const std::string& private_key, std::uint16_t port);
  // Adds the peer, or ranges to it. A range goes from the peer that has it to the one that is named last.
  Status AddPeer(const std::string& link, const WireguardPeer& peer);
  // Nothing if it is unknown.
  Status RemovePeer(const std::string& link, const std::string& public_key);

 private:
  Wireguard(std::unique_ptr<NetlinkSocket> socket, std::uint16_t family)
      : socket_(std::move(socket)), family_(family) {}

  const std::unique_ptr<NetlinkSocket> socket_;
  const std::uint16_t family_;  // which number the kernel has given it
};

// The messages; `family` is the number of the kernel's "wireguard".
NetlinkMessage WireguardDeviceMessage(std::uint16_t family, const std::string& link,
                                      const std::string& private_key, std::uint16_t port);
NetlinkMessage WireguardPeerMessage(std::uint16_t family, const std::string& link, const WireguardPeer& peer);
NetlinkMessage WireguardRemoveMessage(std::uint16_t family, const std::string& link,
                                      const std::string& public_key);

}  // namespace flyball::network
