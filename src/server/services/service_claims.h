// What a Service holds of the cluster: its addresses and its node ports.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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

// A range that cluster IPs come from. Its first addresses are left to those who ask for one of them: a
// dynamic address comes from the rest as long as there is one (upstream: KEP-3070). A value.
class AddressRange {
 public:
  explicit AddressRange(const api::Cidr& range);

  bool is_v4() const { return range_.address.is_v4; }
  const char* family() const { return is_v4() ? "IPv4" : "IPv6"; }
  std::uint64_t size() const { return count_; }
  std::uint64_t reserved() const { return reserved_; }
  // The n-th address that may be used.
  std::string At(std::uint64_t n) const;
  // Whether it may be used: the network's own address may not, nor the broadcast address of IPv4.
  bool Contains(const api::IpAddress& address) const;
  const std::string& text() const { return text_; }

 private:
  api::Cidr range_;
  std::uint64_t count_, reserved_;
  std::string text_;
};

// The cluster's, the primary one first: one of a family, or one of each.
using AddressRanges = std::vector<AddressRange>;
// Of that family ("IPv4", "IPv6"); null if the cluster has none.
const AddressRange* RangeOfFamily(const AddressRanges& ranges, std::string_view family);

}  // namespace flyball::server
