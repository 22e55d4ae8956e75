// ServicePortInfo: one port of a Service in one IP family, as the packet filter needs it (upstream: pkg/proxy
// BaseServicePortInfo). Values; thread-compatible. Names, addresses and ports that are not what they should
// be are left out here, so that all that is read from objects can be written into commands of nft as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/core.h"
#include "api/values/ip_address.h"

namespace flyball::network {

enum class IpFamily : std::uint8_t { kV4, kV6 };

inline IpFamily IpFamilyOf(const api::IpAddress& address) {
  return address.is_v4 ? IpFamily::kV4 : IpFamily::kV6;
}
// "IPv4" or "IPv6", as the API writes it.
std::string_view FamilyName(IpFamily family);

enum class TransportProtocol : std::uint8_t { kTcp, kUdp, kSctp };

// "TCP", "UDP" or "SCTP"; empty is TCP.
std::optional<TransportProtocol> ParseProtocol(std::string_view text);
// "tcp", "udp" or "sctp", as nft writes it.
std::string_view ProtocolName(TransportProtocol protocol);
std::optional<std::uint16_t> ParsePort(std::int64_t port);

// Whether the text has only what names of namespaces, Services and ports are made of: a-z, 0-9, '-' and '.'.
bool IsPlainName(std::string_view text);

struct ServicePortInfo {
  std::string ns, service, port_name;
  TransportProtocol protocol = TransportProtocol::kTcp;
  api::IpAddress cluster_ip;
  std::uint16_t port = 0, node_port = 0, health_check_node_port = 0;
  std::vector<api::IpAddress> external_ips, load_balancer_ips;
  std::vector<api::Cidr> source_ranges;  // of the load balancer; empty: all
  bool internal_local = false, external_local = false;
  std::optional<std::int32_t> affinity_seconds;  // ClientIP

  // Reached from elsewhere than the cluster IP.
  bool external() const { return node_port != 0 || !external_ips.empty() || !load_balancer_ips.empty(); }
  // Local traffic policies still need the cluster's endpoints, for what comes from this node.
  bool uses_cluster_endpoints() const { return !internal_local || external(); }
  bool uses_local_endpoints() const { return internal_local || (external_local && external()); }
};

// The ports of a Service in a family; none if it has no cluster IP there, as headless and ExternalName
// Services do.
std::vector<ServicePortInfo> PortsOf(const Service& service, IpFamily family);

}  // namespace flyball::network
