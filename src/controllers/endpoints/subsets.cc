#include "controllers/endpoints/subsets.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "controllers/endpoints/port_order.h"

namespace flyball::controllers {
namespace {

// An address and its pod: two pods may have had the same address.
using AddressKey = std::pair<std::string, std::string>;
// Whether each address is ready.
using AddressSet = std::map<AddressKey, bool>;

struct PortLess {
  static auto KeyOf(const std::optional<EndpointPort>& port) {
    const EndpointPort& p = *port;
    return std::tie(p.port, p.protocol, p.name, p.app_protocol);
  }
  bool operator()(const std::optional<EndpointPort>& a, const std::optional<EndpointPort>& b) const {
    if (!a || !b) return !a && b;
    return KeyOf(a) < KeyOf(b);
  }
};

class Repacking {
 public:
  void Add(const EndpointSubset& subset) {
    // Addresses without any port are kept as well.
    if (subset.ports.empty()) AddAll(subset, std::nullopt);
    for (const EndpointPort& port : subset.ports) AddAll(subset, port);
  }

  std::vector<EndpointSubset> Finish() const {
    std::map<AddressSet, std::vector<EndpointPort>> by_addresses;
    for (const auto& [port, addresses] : by_port_) {
      std::vector<EndpointPort>& ports = by_addresses[addresses];
      if (port) ports.push_back(*port);
    }
    std::vector<EndpointSubset> subsets;
    for (auto& [addresses, ports] : by_addresses) subsets.push_back(SubsetOf(addresses, std::move(ports)));
    return subsets;
  }

 private:
  void AddAll(const EndpointSubset& subset, const std::optional<EndpointPort>& port) {
    for (const EndpointAddress& address : subset.addresses) AddOne(address, port, true);
    for (const EndpointAddress& address : subset.not_ready_addresses) AddOne(address, port, false);
  }
  void AddOne(const EndpointAddress& address, const std::optional<EndpointPort>& port, bool ready) {
    const AddressKey key{address.ip, address.target_ref ? address.target_ref->uid : ""};
    addresses_.emplace(key, address);
    bool& known = by_port_[port].emplace(key, ready).first->second;
    known = known && ready;
  }
  EndpointSubset SubsetOf(const AddressSet& set, std::vector<EndpointPort> ports) const {
    EndpointSubset subset;
    for (const auto& [key, ready] : set)
      (ready ? subset.addresses : subset.not_ready_addresses).push_back(addresses_.at(key));
    SortPorts(ports);
    subset.ports = std::move(ports);
    return subset;
  }

  std::map<AddressKey, EndpointAddress> addresses_;
  std::map<std::optional<EndpointPort>, AddressSet, PortLess> by_port_;
};

}  // namespace

std::vector<EndpointSubset> RepackSubsets(const std::vector<EndpointSubset>& subsets) {
  Repacking repacking;
  for (const EndpointSubset& subset : subsets) repacking.Add(subset);
  return repacking.Finish();
}

std::vector<EndpointSlicePort> SlicePortsOf(const std::vector<EndpointPort>& ports) {
  std::vector<EndpointSlicePort> out;
  for (const EndpointPort& port : ports) {
    EndpointSlicePort& slice_port = out.emplace_back();
    slice_port.name = port.name;
    slice_port.protocol = port.protocol;
    slice_port.port = port.port;
    slice_port.app_protocol = port.app_protocol;
  }
  SortPorts(out);
  return out;
}

}  // namespace flyball::controllers
