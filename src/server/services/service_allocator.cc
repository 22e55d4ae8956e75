#include "server/services/service_allocator.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/rules/field_error.h"
#include "base/values/ascii.h"
#include "server/registry/object_codec.h"
#include "server/registry/own_object.h"
#include "server/services/service_claims.h"
#include "server/services/service_families.h"

namespace flyball::server {
namespace {

// Ports for those who ask for one: a dynamic one comes from above them (upstream: calculateRangeOffset).
int ReservedPorts(int size) {
  constexpr int kLeast = 16, kMost = 128, kShare = 32;
  return size <= kLeast ? 0 : std::clamp(size / kShare, kLeast, kMost);
}

Error InvalidService(const json::Value& service, const api::FieldErrors& errors) {
  return errors.ToError("", "Service", service["metadata"]["name"].string_or(""));
}

std::string_view ServiceNameOf(const json::Value& service) {
  return service["metadata"]["name"].string_or("");
}
std::string_view ServiceNamespaceOf(const json::Value& service) {
  return service["metadata"]["namespace"].string_or("");
}

// Keeps nothing: what is taken is in the caches, and whoever is too late for it fails to commit. Thread-safe.
class ServiceAllocator final : public ObjectLifecycle {
 public:
  ServiceAllocator(AddressRanges ranges, ServerState& state, const StoredPorts& ports)
      : ranges_(std::move(ranges)),
        state_(state),
        addresses_(state.catalog.Find("networking.k8s.io", "v1", "ipaddresses")),
        ports_(ports) {}

  Result<store::Transaction> BeforeCreate(json::Value& service) override {
    return Allocate(service, json::Value());
  }
  Result<store::Transaction> BeforeUpdate(json::Value& service, const json::Value& old) override {
    return Allocate(service, old);
  }
  Result<store::Transaction> BeforeDelete(const json::Value& service) override {
    store::Transaction transaction;
    GiveBackAddresses(json::Value(), service, transaction);
    const auto seen = ports_.state();
    auto ports = seen.ports;
    for (const int port : NodePortsOf(service)) ports.Release(port);
    if (!(ports == seen.ports)) transaction.push_back(ports_.Replace(seen, ports));
    return transaction;
  }

 private:
  Result<store::Transaction> Allocate(json::Value& service, const json::Value& old) {
    store::Transaction transaction;
    FLYBALL_TRY(SetServiceFamilies(service, old, ranges_));
    if (!KeepsPreferredFamilies(service, old)) FLYBALL_TRY(AllocateIps(service, old, transaction));
    GiveBackAddresses(service, old, transaction);
    FLYBALL_TRY(AllocatePorts(service, old, transaction));
    return transaction;
  }

  bool IsTaken(const std::string& address) const { return addresses_->cache->Get(address) != nullptr; }

  // The object that says whose the address is: whoever makes it first has the address.
  Status Take(const std::string& address, const json::Value& service, store::Transaction& transaction) {
    RequestScope scope = OwnScope(state_);
    auto value = IpAddressObject(address, ServiceNamespaceOf(service), ServiceNameOf(service));
    FLYBALL_ASSIGN(OwnObject made, MakeOwnObject(state_, scope, std::move(value)));
    transaction.push_back(
        {made.key, EncodeObject(*made.resource, made.object), store::Precondition::Absent()});
    return {};
  }

  // What `old` holds and `service` does not. An address that somebody holds on to (finalizers) stays.
  void GiveBackAddresses(const json::Value& service, const json::Value& old,
                         store::Transaction& transaction) {
    const auto kept = ClusterIpsOf(service);
    if (old.is_null()) return;
    for (const auto& address : ClusterIpsOf(old)) {
      if (!service.is_null() && kept.contains(address)) continue;
      const auto object = addresses_->cache->Get(address);
      if (!object) continue;
      const auto value = object->ToValue();
      if (!IsAddressOf(value, ServiceNamespaceOf(old), ServiceNameOf(old)) ||
          !value["metadata"]["finalizers"].empty())
        continue;
      transaction.push_back(
          {addresses_->Key("", address), nullptr, store::Precondition::ModRevision(object->revision())});
    }
  }

  // One of each family; those that it has already stay.
  Status AllocateIps(json::Value& service, const json::Value& old, store::Transaction& transaction) {
    auto& spec = service["spec"];
    if (!WantsClusterIp(service)) {
      if (ClusterIpOf(service) == "None") spec["clusterIPs"] = json::Array{"None"};
      return {};
    }
    const auto held = old.is_null() ? std::set<std::string>() : ClusterIpsOf(old);
    if (!spec["clusterIPs"].is_array()) spec["clusterIPs"] = json::Array{};
    auto& ips = spec["clusterIPs"];
    for (std::size_t i = 0; i < spec["ipFamilies"].size(); ++i) {
      const AddressRange* range = RangeOfFamily(ranges_, spec["ipFamilies"].as_array()[i].string_or(""));
      // It is from before the cluster lost that family, and keeps what it has.
      if (!range) continue;
      if (ips.size() <= i) ips.as_array().emplace_back("");
      const std::string given(ips.as_array()[i].string_or(""));
      if (given.empty()) {
        FLYBALL_ASSIGN(const std::string drawn, DrawIp(*range, service, transaction));
        ips.as_array()[i] = drawn;
      } else if (const auto ip = api::ParseIp(given); !ip || !held.contains(ip->ToString())) {
        FLYBALL_TRY(TakeIp(*range, given, service, transaction));
      }
    }
    if (!ips.empty()) spec["clusterIP"] = ips.as_array()[0];
    return {};
  }

  Status TakeIp(const AddressRange& range, const std::string& given, const json::Value& service,
                store::Transaction& transaction) {
    const auto ip = api::ParseIp(given);
    api::FieldErrors errors;
    const api::FieldPath path("spec.clusterIPs");
    if (!ip || !range.Contains(*ip)) {
      errors.Invalid(path, service["spec"]["clusterIPs"],
                     "failed to allocate IP " + given + ": the provided IP (" + given +
                         ") is not in the valid range. The range of valid IPs is " + range.text());
    } else if (IsTaken(ip->ToString())) {
      errors.Invalid(path, service["spec"]["clusterIPs"],
                     "failed to allocate IP " + given + ": provided IP is already allocated");
    }
    if (!errors.empty()) return Unexpected(InvalidService(service, errors));
    return Take(ip->ToString(), service, transaction);
  }

  Result<std::string> DrawIp(const AddressRange& range, const json::Value& service,
                             store::Transaction& transaction) {
    auto address = FreeAddress(range, range.reserved(), range.size());
    // The first address is the `kubernetes` Service's own.
    if (!address) address = FreeAddress(range, 1, range.reserved());
    if (!address)
      return Unexpected(InternalError("failed to allocate a serviceIP for Service \"" +
                                      std::string(ServiceNameOf(service)) + "\": range is full"));
    FLYBALL_TRY(Take(*address, service, transaction));
    return *address;
  }

  // Among the n-th addresses from `first` on, up to and without `end`.
  std::optional<std::string> FreeAddress(const AddressRange& range, std::uint64_t first,
                                         std::uint64_t end) const {
    if (first == 0) first = 1;
    if (first >= end) return std::nullopt;
    const std::uint64_t count = end - first;
    const std::uint64_t start = state_.random.Below(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto address = range.At(first + (start + i) % count);
      if (!IsTaken(address)) return address;
    }
    return std::nullopt;
  }

  Status AllocatePorts(json::Value& service, const json::Value& old, store::Transaction& transaction) {
    const auto held = old.is_null() ? std::set<int>{} : NodePortsOf(old);
    const auto seen = ports_.state();
    auto ports = seen.ports;
    if (WantsNodePorts(service)) FLYBALL_TRY(TakePorts(service, held, ports));
    const auto kept = NodePortsOf(service);
    for (const int port : held)
      if (!kept.contains(port)) ports.Release(port);
    if (!(ports == seen.ports)) transaction.push_back(ports_.Replace(seen, ports));
    return {};
  }

  Status TakePorts(json::Value& service, const std::set<int>& held, PortBitmap& ports) {
    auto* list = service.FindPath({"spec", "ports"});
    if (!list || !list->is_array()) return {};
    const bool local = service["spec"]["externalTrafficPolicy"].string_or("") == "Local";
    if (ServiceType(service) == "LoadBalancer" && local) FLYBALL_TRY(TakeHealthPort(service, held, ports));
    std::set<int> taken;
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto& port = list->as_array()[i];
      const auto wanted = static_cast<int>(port["nodePort"].int_or(0));
      if (wanted != 0 && (held.contains(wanted) || taken.contains(wanted))) continue;
      api::FieldErrors errors;
      const int number = wanted != 0 ? wanted : FreePort(ports);
      const auto path = api::FieldPath("spec.ports").Index(i).Child("nodePort");
      if (number == 0) {
        errors.Internal(path, "failed to allocate a nodePort: range is full");
      } else if (!ports.range().Contains(number)) {
        errors.Invalid(path, wanted,
                       "provided port is not in the valid range. The range of valid ports is " +
                           ports.range().ToString());
      } else if (!ports.Take(number)) {
        errors.Invalid(path, wanted, "provided port is already allocated");
      }
      if (!errors.empty()) return Unexpected(InvalidService(service, errors));
      taken.insert(number);
      port["nodePort"] = number;
    }
    return {};
  }

  // Of the health check.
  Status TakeHealthPort(json::Value& service, const std::set<int>& held, PortBitmap& ports) {
    const auto wanted = static_cast<int>(service["spec"]["healthCheckNodePort"].int_or(0));
    if (wanted != 0 && held.contains(wanted)) return {};
    const auto failed = [&](const std::string& why) {
      return Unexpected(InternalError("failed to allocate requested HealthCheck NodePort " +
                                      std::to_string(wanted) + ": " + why));
    };
    const int number = wanted != 0 ? wanted : FreePort(ports);
    if (number == 0)
      return Unexpected(InternalError("failed to allocate a HealthCheck NodePort 0: range is full"));
    if (!ports.range().Contains(number))
      return failed("provided port is not in the valid range. The range of valid ports is " +
                    ports.range().ToString());
    if (!ports.Take(number)) return failed("provided port is already allocated");
    service["spec"]["healthCheckNodePort"] = number;
    return {};
  }

  // 0 if there is none.
  int FreePort(const PortBitmap& ports) const {
    const auto& range = ports.range();
    const int reserved = ReservedPorts(range.size());
    const int upper = FreePortBetween(ports, range.first + reserved, range.last);
    return upper != 0 ? upper : FreePortBetween(ports, range.first, range.first + reserved - 1);
  }
  int FreePortBetween(const PortBitmap& ports, int first, int last) const {
    const int count = last - first + 1;
    if (count <= 0) return 0;
    const int start = static_cast<int>(state_.random.Below(static_cast<std::uint64_t>(count)));
    for (int i = 0; i < count; ++i)
      if (const int port = first + (start + i) % count; !ports.Has(port)) return port;
    return 0;
  }

  const AddressRanges ranges_;
  ServerState& state_;
  const ResourcePtr addresses_;
  const StoredPorts& ports_;
};

// Neither more addresses than are counted nor so few that nothing is left for Services.
Status CheckSize(const api::Cidr& range, const std::string& text) {
  constexpr int kShortestV4 = 8, kLongestV4 = 30, kShortestV6 = 64, kLongestV6 = 126;
  const auto [shortest, longest] =
      range.address.is_v4 ? std::pair(kShortestV4, kLongestV4) : std::pair(kShortestV6, kLongestV6);
  if (range.prefix >= shortest && range.prefix <= longest) return {};
  return Unexpected(BadRequest("--service-cluster-ip-range: the prefix length of " + text +
                               " must be between " + std::to_string(shortest) + " and " +
                               std::to_string(longest)));
}

}  // namespace

Result<AddressRanges> ParseServiceRanges(const std::string& cluster_ip_range) {
  const auto refused = [](const std::string& why) {
    return Unexpected(BadRequest("--service-cluster-ip-range" + why));
  };
  AddressRanges ranges;
  for (const std::string& text : SplitWords(cluster_ip_range, ",")) {
    const auto range = api::ParseCidr(text);
    if (!range) return refused(": invalid CIDR address: " + text);
    FLYBALL_TRY(CheckSize(*range, text));
    ranges.emplace_back(*range);
  }
  if (ranges.empty()) return refused(" must contain at least one valid cidr");
  if (ranges.size() > 2) return refused(" must not contain more than two entries");
  if (ranges.size() == 2 && ranges[0].is_v4() == ranges[1].is_v4())
    return refused("[0] and --service-cluster-ip-range[1] must be of different IP family");
  return ranges;
}

std::unique_ptr<ObjectLifecycle> NewServiceAllocator(const AddressRanges& ranges, ServerState& state,
                                                     const StoredPorts& ports) {
  return std::make_unique<ServiceAllocator>(ranges, state, ports);
}

}  // namespace flyball::server
