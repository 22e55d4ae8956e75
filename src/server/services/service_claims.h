// What a Service holds of the cluster: its addresses and its node ports.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "api/values/ip_address.h"
#include "json/value.h"

namespace flyball::server {

// The controller's name in the labels of addresses that are allocated (upstream: ipallocator).
inline constexpr std::string_view kAddressOwner = "ipallocator.k8s.io";

std::string_view ServiceType(const json::Value& service);
std::string_view ClusterIpOf(const json::Value& service);
bool WantsClusterIp(const json::Value& service);
bool WantsNodePorts(const json::Value& service);
// Addresses of headless and external Services are none. In the form objects of addresses are named by.
std::set<std::string> ClusterIpsOf(const json::Value& service);
// Node ports and the health check's.
std::set<int> NodePortsOf(const json::Value& service);

// The IPAddress that says whose the address is.
json::Value IpAddressObject(const std::string& address, std::string_view namespace_name,
                            std::string_view name);
// Whether that object says so of the Service.
bool IsAddressOf(const json::Value& ip_address, std::string_view namespace_name, std::string_view name);

// The IPv4 range cluster IPs come from. Its first addresses are left to those who ask for one of them: a
// dynamic address comes from the rest as long as there is one (upstream: KEP-3070). A value.
class AddressRange {
 public:
  explicit AddressRange(api::Cidr range);

  std::uint32_t size() const { return count_; }
  std::uint32_t reserved() const { return reserved_; }
  // The n-th address that may be used.
  std::string At(std::uint32_t n) const;
  // Whether it may be used: the network's own address and the broadcast address may not.
  bool Contains(const api::IpAddress& address) const;
  const std::string& text() const { return text_; }

 private:
  std::uint32_t first_, count_, reserved_;
  std::string text_;
};

}  // namespace flyball::server
