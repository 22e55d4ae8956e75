#include "server/services/service_claims.h"

#include <algorithm>

namespace flyball::server {
namespace {

std::uint32_t V4Number(const api::IpAddress& ip) {
  std::uint32_t n = 0;
  for (std::size_t i = 12; i < 16; ++i) n = (n << 8) | ip.bytes[i];
  return n;
}

// Upstream: calculateRangeOffset.
std::uint32_t ReservedOf(std::uint32_t count) {
  constexpr std::uint32_t kLeast = 16, kMost = 256, kShare = 16;
  const std::uint32_t size = count + 2;
  return size <= kLeast ? 0 : std::clamp(size / kShare, kLeast, kMost);
}

}  // namespace

std::string_view ServiceType(const json::Value& service) {
  return service["spec"]["type"].string_or("ClusterIP");
}

std::string_view ClusterIpOf(const json::Value& service) {
  return service["spec"]["clusterIP"].string_or("");
}

bool WantsClusterIp(const json::Value& service) {
  return ServiceType(service) != "ExternalName" && ClusterIpOf(service) != "None";
}

bool WantsNodePorts(const json::Value& service) {
  const auto type = ServiceType(service);
  if (type == "NodePort") return true;
  return type == "LoadBalancer" && service["spec"]["allocateLoadBalancerNodePorts"].bool_or(true);
}

std::set<std::string> ClusterIpsOf(const json::Value& service) {
  std::set<std::string> addresses;
  if (!WantsClusterIp(service)) return addresses;
  const auto add = [&](std::string_view text) {
    if (const auto ip = api::ParseIp(text)) addresses.insert(ip->ToString());
  };
  add(ClusterIpOf(service));
  if (const auto& list = service["spec"]["clusterIPs"]; list.is_array())
    for (const auto& ip : list.as_array()) add(ip.string_or(""));
  return addresses;
}

std::set<int> NodePortsOf(const json::Value& service) {
  std::set<int> ports;
  if (const auto& list = service["spec"]["ports"]; list.is_array())
    for (const auto& port : list.as_array())
      if (const auto number = port["nodePort"].int_or(0); number != 0) ports.insert(static_cast<int>(number));
  if (const auto health = service["spec"]["healthCheckNodePort"].int_or(0); health != 0)
    ports.insert(static_cast<int>(health));
  return ports;
}

json::Value IpAddressObject(const std::string& address, std::string_view namespace_name,
                            std::string_view name) {
  const bool v4 = address.find(':') == std::string::npos;
  return json::Object{
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "IPAddress"},
      {"metadata",
       json::Object{{"name", address},
                    {"labels", json::Object{{"ipaddress.kubernetes.io/ip-family", v4 ? "IPv4" : "IPv6"},
                                            {"ipaddress.kubernetes.io/managed-by", kAddressOwner}}}}},
      {"spec", json::Object{
                   {"parentRef",
                    json::Object{{"resource", "services"}, {"namespace", namespace_name}, {"name", name}}}}}};
}

bool IsAddressOf(const json::Value& ip_address, std::string_view namespace_name, std::string_view name) {
  const auto& parent = ip_address["spec"]["parentRef"];
  return parent["group"].string_or("").empty() && parent["resource"].string_or("") == "services" &&
         parent["namespace"].string_or("") == namespace_name && parent["name"].string_or("") == name;
}

AddressRange::AddressRange(api::Cidr range)
    : first_(V4Number(range.Network()) + 1),
      count_((std::uint32_t{1} << (32 - range.prefix)) - 2),
      reserved_(ReservedOf(count_)),
      text_(range.Network().ToString() + "/" + std::to_string(range.prefix)) {}

std::string AddressRange::At(std::uint32_t n) const {
  const std::uint32_t address = first_ + n;
  return std::to_string(address >> 24) + "." + std::to_string((address >> 16) & 255) + "." +
         std::to_string((address >> 8) & 255) + "." + std::to_string(address & 255);
}

bool AddressRange::Contains(const api::IpAddress& address) const {
  return address.is_v4 && V4Number(address) - first_ < count_;
}

}  // namespace flyball::server
