#include "network/services/service_port.h"

#include <algorithm>

#include "base/values/ascii.h"

namespace flyball::network {
namespace {

constexpr std::int32_t kDefaultAffinitySeconds = 10800;  // the API server's default

std::optional<api::IpAddress> AddressIn(std::string_view text, IpFamily family) {
  const auto address = api::ParseIp(text);
  if (!address || IpFamilyOf(*address) != family) return std::nullopt;
  return address;
}

// Each once: a frontend can be claimed only once by a Service.
void AddAddress(std::vector<api::IpAddress>& to, std::string_view text, IpFamily family) {
  const auto address = AddressIn(text, family);
  if (address && std::find(to.begin(), to.end(), *address) == to.end()) to.push_back(*address);
}

std::optional<api::IpAddress> ClusterIpIn(const ServiceSpec& spec, IpFamily family) {
  if (spec.cluster_ips.empty()) return AddressIn(spec.cluster_ip, family);
  for (const std::string& ip : spec.cluster_ips)
    if (const auto address = AddressIn(ip, family)) return address;
  return std::nullopt;
}

// A range that holds everything means the same as none (upstream: newBaseServiceInfo).
std::vector<api::Cidr> SourceRangesIn(const ServiceSpec& spec, IpFamily family) {
  std::vector<api::Cidr> ranges;
  for (const std::string& text : spec.load_balancer_source_ranges) {
    const auto range = api::ParseCidr(Trimmed(text));
    if (!range || IpFamilyOf(range->address) != family) continue;
    if (range->prefix == 0) return {};
    ranges.push_back(*range);
  }
  return ranges;
}

// What all ports of the Service have in common.
ServicePortInfo CommonInfo(const Service& service, const api::IpAddress& cluster_ip) {
  const ServiceSpec& spec = service.spec;
  const IpFamily family = IpFamilyOf(cluster_ip);
  ServicePortInfo info;
  info.ns = service.metadata.namespace_;
  info.service = service.metadata.name;
  info.cluster_ip = cluster_ip;
  for (const std::string& ip : spec.external_ips) AddAddress(info.external_ips, ip, family);
  for (const LoadBalancerIngress& ingress : service.status.load_balancer.ingress)
    if (ingress.ip_mode.value_or("VIP") == "VIP") AddAddress(info.load_balancer_ips, ingress.ip, family);
  info.source_ranges = SourceRangesIn(spec, family);
  info.internal_local = spec.internal_traffic_policy == "Local";
  if (spec.session_affinity == "ClientIP") {
    info.affinity_seconds = kDefaultAffinitySeconds;
    if (spec.session_affinity_config && spec.session_affinity_config->client_ip)
      info.affinity_seconds =
          spec.session_affinity_config->client_ip->timeout_seconds.value_or(kDefaultAffinitySeconds);
  }
  return info;
}

bool IsExternallyAccessible(const ServiceSpec& spec) {
  return spec.type == "NodePort" || spec.type == "LoadBalancer" || !spec.external_ips.empty();
}

}  // namespace

std::string_view FamilyName(IpFamily family) {
  return family == IpFamily::kV4 ? "IPv4" : "IPv6";
}

std::optional<TransportProtocol> ParseProtocol(std::string_view text) {
  if (text.empty() || text == "TCP") return TransportProtocol::kTcp;
  if (text == "UDP") return TransportProtocol::kUdp;
  if (text == "SCTP") return TransportProtocol::kSctp;
  return std::nullopt;
}

std::string_view ProtocolName(TransportProtocol protocol) {
  switch (protocol) {
    case TransportProtocol::kTcp:
      return "tcp";
    case TransportProtocol::kUdp:
      return "udp";
    case TransportProtocol::kSctp:
      return "sctp";
  }
  return "tcp";
}

std::optional<std::uint16_t> ParsePort(std::int64_t port) {
  if (port < 1 || port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

bool IsPlainName(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsDigit(c) || IsLowerLetter(c) || c == '-' || c == '.'; });
}

std::vector<ServicePortInfo> PortsOf(const Service& service, IpFamily family) {
  const ServiceSpec& spec = service.spec;
  if (spec.type == "ExternalName") return {};
  const auto cluster_ip = ClusterIpIn(spec, family);
  if (!cluster_ip || !IsPlainName(service.metadata.namespace_) || !IsPlainName(service.metadata.name))
    return {};
  ServicePortInfo common = CommonInfo(service, *cluster_ip);
  common.external_local = IsExternallyAccessible(spec) && spec.external_traffic_policy == "Local";
  if (common.external_local && spec.type == "LoadBalancer")
    common.health_check_node_port = ParsePort(spec.health_check_node_port).value_or(0);

  std::vector<ServicePortInfo> ports;
  for (const ServicePort& port : spec.ports) {
    const auto protocol = ParseProtocol(port.protocol);
    const auto number = ParsePort(port.port);
    if (!protocol || !number || !IsPlainName(port.name)) continue;
    ServicePortInfo& info = ports.emplace_back(common);
    info.port_name = port.name;
    info.protocol = *protocol;
    info.port = *number;
    info.node_port = ParsePort(port.node_port).value_or(0);
  }
  return ports;
}

}  // namespace flyball::network
