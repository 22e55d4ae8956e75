#include "network/balancer/balancer_addresses.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/values/ascii.h"

namespace flyball::network {
namespace {

constexpr std::uint64_t kMostAddresses = 1u << 16;
constexpr std::size_t kCountedBytes = 8;  // at the end of an address; the others are equal within a range

std::uint64_t CountedBits(const api::IpAddress& address) {
  std::uint64_t number = 0;
  for (std::size_t i = address.bytes.size() - kCountedBytes; i < address.bytes.size(); ++i)
    number = number << 8 | address.bytes[i];
  return number;
}

api::IpAddress Next(api::IpAddress address) {
  for (auto byte = address.bytes.rbegin(); byte != address.bytes.rend() && ++*byte == 0; ++byte) {
  }
  return address;
}

std::optional<AddressRange> RangeOf(const api::Cidr& cidr) {
  AddressRange range{cidr.Network(), cidr.Network()};
  const int bits = cidr.address.is_v4 ? 32 : 128;
  const auto size = range.last.bytes.size();
  for (int host = 0; host < bits - cidr.prefix; ++host)
    range.last.bytes[size - 1 - static_cast<std::size_t>(host / 8)] |=
        static_cast<std::uint8_t>(1u << (host % 8));
  return range;
}

std::optional<AddressRange> ParseRange(const std::string& text) {
  if (const auto cidr = api::ParseCidr(text)) return RangeOf(*cidr);
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto first = api::ParseIp(text.substr(0, dash)), last = api::ParseIp(text.substr(dash + 1));
  if (!first || !last || first->is_v4 != last->is_v4) return std::nullopt;
  return AddressRange{*first, *last};
}

// Whether it is in order, and small enough to be counted through.
bool IsCountable(const AddressRange& range) {
  const auto prefix_end = range.first.bytes.end() - kCountedBytes;
  return std::equal(range.first.bytes.begin(), prefix_end, range.last.bytes.begin()) &&
         CountedBits(range.last) >= CountedBits(range.first) &&
         CountedBits(range.last) - CountedBits(range.first) < kMostAddresses;
}

std::string NameOf(const Service& service) {
  return service.metadata.namespace_ + "/" + service.metadata.name;
}

// Makes one plan.
class Planner {
 public:
  explicit Planner(const BalancerPool& pool) : pool_(pool) {}

  // False if not all that the status says can stay.
  bool Keep(const Service& service) {
    const auto kept = BalancerAddressesOf(service);
    if (kept.empty() || kept.size() != FamiliesOf(service).size()) return false;
    for (const api::IpAddress& address : kept)
      if (!pool_.Contains(address) || !IsAskedFor(service, address) || !WhyTaken(service, address).empty())
        return false;
    for (const api::IpAddress& address : kept) Take(service, address);
    return true;
  }

  void Choose(const Service& service) {
    const auto families = FamiliesOf(service);
    std::string why = "no address of its IP families is given out here";
    std::vector<api::IpAddress> chosen;
    for (const bool v4 : families)
      if (const auto address = FirstFree(service, v4, why)) chosen.push_back(*address);
    if (families.empty() || chosen.size() < families.size()) {
      plan_.refused[NameOf(service)] = why;
      return;
    }
    for (const api::IpAddress& address : chosen) Take(service, address);
  }

  BalancerPlan Take() { return std::move(plan_); }

 private:
  using Port = std::tuple<std::string, std::string, int>;  // address, protocol, port; of a range: the address

  // The families of the Service in which the pool has addresses; true is IPv4.
  std::vector<bool> FamiliesOf(const Service& service) const {
    std::vector<bool> families;
    const auto& wanted = service.spec.ip_families;
    for (const bool v4 : {true, false}) {
      const char* const name = v4 ? "IPv4" : "IPv6";
      const bool asked = wanted.empty() ? v4 : std::find(wanted.begin(), wanted.end(), name) != wanted.end();
      if (asked && HasFamily(v4)) families.push_back(v4);
    }
    return families;
  }
  bool HasFamily(bool v4) const {
    const auto range = [v4](const AddressRange& of) { return of.first.is_v4 == v4; };
    const auto address = [v4](const api::IpAddress& of) { return of.is_v4 == v4; };
    return std::any_of(pool_.ranges.begin(), pool_.ranges.end(), range) ||
           (pool_.ranges.empty() && std::any_of(pool_.shared.begin(), pool_.shared.end(), address));
  }

  static bool IsAskedFor(const Service& service, const api::IpAddress& address) {
    const auto asked = api::ParseIp(service.spec.load_balancer_ip);
    return !asked || asked->is_v4 != address.is_v4 || *asked == address;
  }

  std::vector<Port> PortsAt(const Service& service, const api::IpAddress& address) const {
    if (!pool_.ranges.empty()) return {{address.ToString(), "", 0}};
    std::vector<Port> ports;
    for (const ServicePort& port : service.spec.ports)
      ports.emplace_back(address.ToString(), port.protocol.empty() ? "TCP" : port.protocol, port.port);
    return ports;
  }

  // Empty if the Service can have the address.
  std::string WhyTaken(const Service& service, const api::IpAddress& address) const {
    for (const Port& port : PortsAt(service, address)) {
      const auto owner = owners_.find(port);
      if (owner == owners_.end()) continue;
      const auto& [text, protocol, number] = port;
      if (protocol.empty()) return text + " belongs to the Service " + owner->second;
      return "port " + std::to_string(number) + "/" + protocol + " of " + text + " belongs to the Service " +
             owner->second;
    }
    return {};
  }

  std::optional<api::IpAddress> FirstFree(const Service& service, bool v4, std::string& why) const {
    const auto fits = [&](const api::IpAddress& address) {
      if (!IsAskedFor(service, address)) return false;
      const std::string taken = WhyTaken(service, address);
      if (!taken.empty()) why = taken;
      return taken.empty();
    };
    why = service.spec.load_balancer_ip.empty() ? "all addresses are in use"
                                                : "spec.loadBalancerIP " + service.spec.load_balancer_ip +
                                                      " is not an address that is given out here";
    if (pool_.ranges.empty()) {
      for (const api::IpAddress& address : pool_.shared)
        if (address.is_v4 == v4 && fits(address)) return address;
      return std::nullopt;
    }
    for (const AddressRange& range : pool_.ranges) {
      if (range.first.is_v4 != v4) continue;
      for (api::IpAddress address = range.first;; address = Next(address)) {
        if (fits(address)) return address;
        if (address == range.last) break;
      }
    }
    return std::nullopt;
  }

  void Take(const Service& service, const api::IpAddress& address) {
    for (Port& port : PortsAt(service, address)) owners_.emplace(std::move(port), NameOf(service));
    plan_.addresses[NameOf(service)].push_back(address);
  }

  const BalancerPool& pool_;
  std::map<Port, std::string> owners_;
  BalancerPlan plan_;
};

}  // namespace

bool AddressRange::Contains(const api::IpAddress& address) const {
  return address.is_v4 == first.is_v4 && first.bytes <= address.bytes && address.bytes <= last.bytes;
}

bool BalancerPool::Contains(const api::IpAddress& address) const {
  if (ranges.empty()) return std::find(shared.begin(), shared.end(), address) != shared.end();
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return range.Contains(address); });
}

Result<std::vector<AddressRange>> ParseAddressRanges(const std::string& text) {
  std::vector<AddressRange> ranges;
  for (const std::string& word : SplitWords(text, ",")) {
    const auto range = ParseRange(word);
    if (!range)
      return Unexpected(
          BadRequest("\"" + word + "\" is no range such as 192.0.2.16/28 or 192.0.2.16-192.0.2.40"));
    if (!IsCountable(*range))
      return Unexpected(BadRequest("\"" + word + "\" is empty or has more than 65536 addresses"));
    ranges.push_back(*range);
  }
  return ranges;
}

bool WantsBalancer(const Service& service) {
  const auto& wanted = service.spec.load_balancer_class;
  return service.spec.type == "LoadBalancer" && !service.metadata.deletion_timestamp &&
         (!wanted || wanted->empty() || *wanted == kBalancerClass);
}

std::vector<api::IpAddress> BalancerAddressesOf(const Service& service) {
  std::vector<api::IpAddress> addresses;
  for (const LoadBalancerIngress& ingress : service.status.load_balancer.ingress)
    if (const auto address = api::ParseIp(ingress.ip)) addresses.push_back(*address);
  return addresses;
}

BalancerPlan PlanBalancers(const BalancerPool& pool,
                           const std::vector<std::shared_ptr<const Service>>& services) {
  std::vector<const Service*> wanting;
  for (const auto& service : services)
    if (WantsBalancer(*service)) wanting.push_back(service.get());
  const auto age = [](const Service* service) {
    return std::tuple(service->metadata.creation_timestamp, NameOf(*service));
  };
  std::sort(wanting.begin(), wanting.end(),
            [&](const Service* a, const Service* b) { return age(a) < age(b); });
  Planner planner(pool);
  std::vector<const Service*> others;
  for (const Service* service : wanting)
    if (!planner.Keep(*service)) others.push_back(service);
  for (const Service* service : others) planner.Choose(*service);
  return planner.Take();
}

}  // namespace flyball::network
