// ServiceRecords: what the cluster's zone says about one Service, worked out once per change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "dns/packet/name.h"

namespace flyball::dns {

// Addresses as the data of A and AAAA records.
struct AddressData {
  std::vector<std::string> a{}, aaaa{};
  bool empty() const { return a.empty() && aaaa.empty(); }
};

// Immutable once made. Names are lower case.
struct ServiceRecords {
  struct Port {
    std::uint16_t number = 0;
    std::size_t host = 0;  // index in `hosts`; kWholeService: the Service's own name
    bool operator==(const Port&) const = default;
  };
  static constexpr std::size_t kWholeService = ~std::size_t{0};
  // A name within the Service: an endpoint's hostname, or its address with dashes.
  struct Host {
    std::string label{};
    AddressData addresses{};
  };

  std::string ns{}, name{};
  std::optional<Name> external{};  // ExternalName: only this
  AddressData addresses{};         // of the Service's own name
  std::vector<Host> hosts{};
  std::unordered_map<std::string, std::size_t> host_by_label{};
  std::map<std::string, std::vector<Port>> ports{};  // by "_http._tcp"; "" has those without a name, too
  // Reverse lookups: the address, as 4 or 16 bytes, and kWholeService or the host.
  std::vector<std::pair<std::string, std::size_t>> reverse{};

  // A headless Service without ready endpoints does not exist (specification, 2.4.1), nor does one that has
  // lost its address.
  bool exists() const { return external || !addresses.empty() || !hosts.empty(); }
};

using EndpointSlices = std::vector<std::shared_ptr<const EndpointSlice>>;

// `slices`: all that belong to the Service.
std::shared_ptr<const ServiceRecords> RecordsOf(const Service& service, const EndpointSlices& slices);

// 4 or 16 bytes; "" if the text is no address.
std::string AddressBytes(const std::string& text);

}  // namespace flyball::dns
