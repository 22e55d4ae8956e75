#include "server/services/service_allocator.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/rules/field_error.h"
#include "server/registry/object_codec.h"
#include "server/registry/own_object.h"
#include "server/services/service_claims.h"

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
  ServiceAllocator(AddressRange range, ServerState& state, const StoredPorts& ports)
      : range_(std::move(range)),
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
    FLYBALL_TRY(CheckFamilies(service));
    SetFamilies(service);
    FLYBALL_TRY(AllocateIp(service, old, transaction));
    GiveBackAddresses(service, old, transaction);
    FLYBALL_TRY(AllocatePorts(service, old, transaction));
    return transaction;
  }

  static Status CheckFamilies(const json::Value& service) {
    if (ServiceType(service) == "ExternalName") return {};
    const auto& spec = service["spec"];
    api::FieldErrors errors;
    const api::FieldPath path("spec");
    if (spec["ipFamilyPolicy"].string_or("") == "RequireDualStack" && !IsFreeOfFamilies(service))
      errors.Invalid(path.Child("ipFamilyPolicy"), spec["ipFamilyPolicy"],
                     "this cluster is not configured for dual-stack services");
    for (std::size_t i = 0; i < spec["ipFamilies"].size(); ++i) {
      const auto& family = spec["ipFamilies"].as_array()[i];
      if (family.string_or("") != "IPv4" && !IsFreeOfFamilies(service))
        errors.Invalid(path.Child("ipFamilies").Index(i), family, "not configured on this cluster");
    }
    const auto address = api::ParseIp(ClusterIpOf(service));
    if (address && !address->is_v4 && spec["ipFamilies"].empty())
      errors.Invalid(path.Child("clusterIPs").Index(0), spec["clusterIPs"],
                     "IPv6 is not configured on this cluster");
    if (errors.empty()) return {};
    return Unexpected(InvalidService(service, errors));
  }

  // A headless service without a selector has addresses that others give it, of any family.
  static bool IsFreeOfFamilies(const json::Value& service) {
    return ClusterIpOf(service) == "None" && service["spec"]["selector"].empty();
  }

  // This server has one IPv4 range: every service that has addresses at all is single-stack.
  static void SetFamilies(json::Value& service) {
    auto& spec = service["spec"];
    if (ServiceType(service) == "ExternalName") return;
    const bool free = IsFreeOfFamilies(service);
    if (spec["ipFamilyPolicy"].string_or("").empty())
      spec["ipFamilyPolicy"] = free ? "RequireDualStack" : "SingleStack";
    const bool dual = free && spec["ipFamilyPolicy"].string_or("") != "SingleStack";
    if (spec["ipFamilies"].empty()) spec["ipFamilies"] = json::Array{"IPv4"};
    if (dual && spec["ipFamilies"].size() == 1) {
      const bool v4_first = spec["ipFamilies"].as_array()[0].string_or("") == "IPv4";
      spec["ipFamilies"].as_array().emplace_back(v4_first ? "IPv6" : "IPv4");
    }
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

  Status AllocateIp(json::Value& service, const json::Value& old, store::Transaction& transaction) {
    if (!WantsClusterIp(service)) {
      if (ClusterIpOf(service) == "None") service["spec"]["clusterIPs"] = json::Array{"None"};
      return {};
    }
    const std::string given(ClusterIpOf(service));
    if (!given.empty() && ClusterIpOf(old) == given) return {};
    if (given.empty()) return DrawIp(service, transaction);
    const auto ip = api::ParseIp(given);
    api::FieldErrors errors;
    const api::FieldPath path("spec.clusterIPs");
    if (!ip || !range_.Contains(*ip)) {
      errors.Invalid(path, json::Array{given},
                     "failed to allocate IP " + given + ": the provided IP (" + given +
                         ") is not in the valid range. The range of valid IPs is " + range_.text());
    } else if (IsTaken(ip->ToString())) {
      errors.Invalid(path, json::Array{given},
                     "failed to allocate IP " + given + ": provided IP is already allocated");
    }
    if (!errors.empty()) return Unexpected(InvalidService(service, errors));
    service["spec"]["clusterIPs"] = json::Array{given};
    return Take(ip->ToString(), service, transaction);
  }

  Status DrawIp(json::Value& service, store::Transaction& transaction) {
    auto address = FreeAddress(range_.reserved(), range_.size());
    // The first address is the `kubernetes` Service's own.
    if (!address) address = FreeAddress(1, range_.reserved());
    if (!address) return Unexpected(InternalError("failed to allocate a serviceIP: range is full"));
    service["spec"]["clusterIP"] = *address;
    service["spec"]["clusterIPs"] = json::Array{*address};
    return Take(*address, service, transaction);
  }

  // Among the n-th addresses from `first` on, up to and without `end`.
  std::optional<std::string> FreeAddress(std::uint32_t first, std::uint32_t end) const {
    if (first == 0) first = 1;
    if (first >= end) return std::nullopt;
    const std::uint32_t count = end - first;
    const auto start = static_cast<std::uint32_t>(state_.random.Below(count));
    for (std::uint32_t i = 0; i < count; ++i) {
      auto address = range_.At(first + (start + i) % count);
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

  const AddressRange range_;
  ServerState& state_;
  const ResourcePtr addresses_;
  const StoredPorts& ports_;
};

}  // namespace

Result<AddressRange> ParseAddressRange(const std::string& cluster_ip_range) {
  const auto range = api::ParseCidr(cluster_ip_range);
  if (!range || !range->address.is_v4 || range->prefix > 30 || range->prefix < 8)
    return Unexpected(
        BadRequest("--service-cluster-ip-range: want an IPv4 range such as 10.96.0.0/16, got \"" +
                   cluster_ip_range + "\""));
  return AddressRange(*range);
}

std::unique_ptr<ObjectLifecycle> NewServiceAllocator(const AddressRange& range, ServerState& state,
                                                     const StoredPorts& ports) {
  return std::make_unique<ServiceAllocator>(range, state, ports);
}

}  // namespace flyball::server
