#include "network/pods/wireguard_tunnel.h"

#include "api/values/base64.h"

namespace flyball::network {
namespace {

constexpr std::size_t kKeySize = 32;

// Empty if it is no key.
std::string KeyIn(const std::string& base64) {
  std::string bytes;
  std::size_t bad = 0;
  return api::DecodeBase64(base64, bytes, bad) && bytes.size() == kKeySize ? bytes : std::string();
}

}  // namespace

Result<std::unique_ptr<NodeTunnel>> WireguardTunnel::Open(std::shared_ptr<Netlink> netlink,
                                                          const std::string& name, const WireguardKeys& keys,
                                                          std::uint32_t mtu) {
  auto wireguard = Wireguard::Open();
  const Status made = wireguard ? netlink->AddWireguard(name, mtu) : Unexpected(wireguard.error());
  if (!made && !made.error().Is(Reason::kAlreadyExists))
    return Unexpected(BadRequest("--overlay=wireguard: " + made.error().message()));
  FLYBALL_TRY((*wireguard)->SetDevice(name, keys.private_key, kWireguardPort));
  FLYBALL_TRY(netlink->SetUp(name));
  std::unique_ptr<WireguardTunnel> tunnel(
      new WireguardTunnel(std::move(netlink), name, std::move(*wireguard), keys.public_key));
  FLYBALL_TRY(tunnel->FindLink());
  return std::unique_ptr<NodeTunnel>(std::move(tunnel));
}

std::string WireguardTunnel::public_key() const {
  return api::EncodeBase64(public_key_);
}

Result<Route> WireguardTunnel::RouteTo(const api::Cidr& range, const NodeWay& way) {
  const auto machine = api::ParseIp(way.machine);
  const std::string key = KeyIn(way.key);
  if (!machine || key.empty())
    return Unexpected(Error(Reason::kServiceUnavailable, "the node has not published its WireGuard key yet"));
  FLYBALL_TRY(wireguard_->AddPeer(name_, {key, *machine, kWireguardPort, {range}}));
  return Route{.destination = range, .link = link()};
}

Status WireguardTunnel::Forget(const api::Cidr&, const NodeWay& way) {
  const std::string key = KeyIn(way.key);
  return key.empty() ? Status() : wireguard_->RemovePeer(name_, key);
}

}  // namespace flyball::network
