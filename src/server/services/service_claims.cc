#include "server/services/service_claims.h"

#include <algorithm>

namespace flyball::server {
namespace {

constexpr std::size_t kNumberBytes = 8;  // of an address that count: no range is larger

std::uint64_t LowNumber(const api::IpAddress& ip) {
  std::uint64_t n = 0;
  for (std::size_t i = ip.bytes.size() - kNumberBytes; i < ip.bytes.size(); ++i) n = (n << 8) | ip.bytes[i];
  return n;
}

api::IpAddress WithLowNumber(api::IpAddress ip, std::uint64_t n) {
  for (std::size_t i = ip.bytes.size(); i > ip.bytes.size() - kNumberBytes; n >>= 8)
    ip.bytes[--i] = static_cast<std::uint8_t>(n);
  return ip;
}

int HostBits(const api::Cidr& range) {
  return (range.address.is_v4 ? 32 : 128) - range.prefix;
}

// All addresses but the network's own and, of IPv4, the broadcast address.
std::uint64_t CountOf(const api::Cidr& range) {
  constexpr int kAllBits = 64;
  const int bits = HostBits(range);
  const std::uint64_t others = bits >= kAllBits ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return range.address.is_v4 ? others - 1 : others;
}

// Upstream: calculateRangeOffset.
std::uint64_t ReservedOf(const api::Cidr& range) {
  constexpr std::uint64_t kLeast = 16, kMost = 256, kShare = 16;
  constexpr int kEnoughBits = 12;  // from here on it is always the most
  const std::uint64_t size = std::uint64_t{1} << std::min(HostBits(range), kEnoughBits);
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

AddressRange::AddressRange(const api::Cidr& range)
    : range_{range.Network(), range.prefix},
      count_(CountOf(range)),
      reserved_(ReservedOf(range)),
      text_(range.Network().ToString() + "/" + std::to_string(range.prefix)) {}

std::string AddressRange::At(std::uint64_t n) const {
  return WithLowNumber(range_.address, LowNumber(range_.address) + 1 + n).ToString();
}

bool AddressRange::Contains(const api::IpAddress& address) const {
  return address.is_v4 == is_v4() && range_.Contains(address) &&
         LowNumber(address) - LowNumber(range_.address) - 1 < count_;
}

const AddressRange* RangeOfFamily(const AddressRanges& ranges, std::string_view family) {
  const auto found = std::find_if(ranges.begin(), ranges.end(),
                                  [&](const AddressRange& range) { return range.family() == family; });
  return found == ranges.end() ? nullptr : &*found;
}

}  // namespace flyball::server
