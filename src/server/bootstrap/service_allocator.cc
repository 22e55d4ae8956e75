#include "server/bootstrap/service_allocator.h"

#include <charconv>
#include <set>

#include "api/rules/field_error.h"
#include "api/values/ip_address.h"
#include "base/run/mutex.h"

namespace flyball::server {
namespace {

struct PortRange {
  int first = 0, last = 0;
};

Result<PortRange> ParsePortRange(std::string_view text) {
  PortRange range;
  const auto dash = text.find('-');
  const auto number = [](std::string_view part, int& out) {
    const auto [end, ec] = std::from_chars(part.data(), part.data() + part.size(), out);
    return ec == std::errc() && end == part.data() + part.size();
  };
  if (dash == std::string_view::npos || !number(text.substr(0, dash), range.first) ||
      !number(text.substr(dash + 1), range.last) || range.first > range.last)
    return Unexpected(
        BadRequest("--service-node-port-range: want FIRST-LAST, got \"" + std::string(text) + "\""));
  return range;
}

std::uint32_t V4Number(const api::IpAddress& ip) {
  std::uint32_t n = 0;
  for (std::size_t i = 12; i < 16; ++i) n = (n << 8) | ip.bytes[i];
  return n;
}

std::string V4Text(std::uint32_t n) {
  return std::to_string(n >> 24) + "." + std::to_string((n >> 16) & 255) + "." +
         std::to_string((n >> 8) & 255) + "." + std::to_string(n & 255);
}

std::string_view TypeOf(const json::Value& service) {
  return service["spec"]["type"].string_or("ClusterIP");
}
std::string_view IpOf(const json::Value& service) {
  return service["spec"]["clusterIP"].string_or("");
}

bool WantsClusterIp(const json::Value& service) {
  return TypeOf(service) != "ExternalName" && IpOf(service) != "None";
}

bool WantsNodePorts(const json::Value& service) {
  const auto type = TypeOf(service);
  if (type == "NodePort") return true;
  return type == "LoadBalancer" && service["spec"]["allocateLoadBalancerNodePorts"].bool_or(true);
}

std::set<int> PortsOf(const json::Value& service) {
  std::set<int> ports;
  if (const auto& list = service["spec"]["ports"]; list.is_array())
    for (const auto& port : list.as_array())
      if (const auto number = port["nodePort"].int_or(0); number != 0) ports.insert(static_cast<int>(number));
  if (const auto health = service["spec"]["healthCheckNodePort"].int_or(0); health != 0)
    ports.insert(static_cast<int>(health));
  return ports;
}

Error InvalidService(const json::Value& service, const api::FieldErrors& errors) {
  return errors.ToError("", "Service", service["metadata"]["name"].string_or(""));
}

// Thread-safe.
class ServiceAllocator final : public ObjectLifecycle {
 public:
  ServiceAllocator(api::Cidr range, PortRange ports, const Catalog& catalog, Random& random)
      : first_(V4Number(range.Network()) + 1),
        count_((std::uint32_t{1} << (32 - range.prefix)) - 2),
        range_(range),
        range_text_(range.Network().ToString() + "/" + std::to_string(range.prefix)),
        ports_(ports),
        random_(random) {
    for (const auto& object : catalog.Find("", "v1", "services")->cache->List({}).objects) {
      const auto service = object->ToValue();
      Take(service);
    }
  }

  Status BeforeCreate(json::Value& service) override {
    MutexLock lock(mu_);
    return Allocate(service, nullptr);
  }

  Status BeforeUpdate(json::Value& service, const json::Value& old) override {
    MutexLock lock(mu_);
    return Allocate(service, &old);
  }

  void Undo(const json::Value& service, const json::Value* old) override {
    MutexLock lock(mu_);
    if (!old || IpOf(*old) != IpOf(service)) ReleaseIp(service);
    const auto kept = old ? PortsOf(*old) : std::set<int>{};
    for (const int port : PortsOf(service))
      if (!kept.contains(port)) used_ports_.erase(port);
  }

  void AfterUpdate(const json::Value& service, const json::Value& old) override {
    MutexLock lock(mu_);
    if (IpOf(old) != IpOf(service)) ReleaseIp(old);
    const auto kept = PortsOf(service);
    for (const int port : PortsOf(old))
      if (!kept.contains(port)) used_ports_.erase(port);
  }

  void AfterDelete(const json::Value& service) override {
    MutexLock lock(mu_);
    ReleaseIp(service);
    for (const int port : PortsOf(service)) used_ports_.erase(port);
  }

 private:
  void Take(const json::Value& service) {
    MutexLock lock(mu_);
    if (const auto ip = api::ParseIp(IpOf(service))) used_ips_.insert(V4Number(*ip));
    for (const int port : PortsOf(service)) used_ports_.insert(port);
  }

  void ReleaseIp(const json::Value& service) FLYBALL_REQUIRES(mu_) {
    if (const auto ip = api::ParseIp(IpOf(service))) used_ips_.erase(V4Number(*ip));
  }

  Status Allocate(json::Value& service, const json::Value* old) FLYBALL_REQUIRES(mu_) {
    FLYBALL_TRY(CheckFamilies(service));
    SetFamilies(service);
    FLYBALL_TRY(AllocateIp(service, old));
    auto allocated = AllocatePorts(service, old);
    if (!allocated && (!old || IpOf(*old) != IpOf(service))) ReleaseIp(service);
    return allocated;
  }

  static Status CheckFamilies(const json::Value& service) {
    if (TypeOf(service) == "ExternalName") return {};
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
    const auto address = api::ParseIp(IpOf(service));
    if (address && !address->is_v4 && spec["ipFamilies"].empty())
      errors.Invalid(path.Child("clusterIPs").Index(0), spec["clusterIPs"],
                     "IPv6 is not configured on this cluster");
    if (errors.empty()) return {};
    return Unexpected(InvalidService(service, errors));
  }

  // A headless service without a selector has addresses that others give it, of any family.
  static bool IsFreeOfFamilies(const json::Value& service) {
    return IpOf(service) == "None" && service["spec"]["selector"].empty();
  }

  // This server has one IPv4 range: every service that has addresses at all is single-stack.
  static void SetFamilies(json::Value& service) {
    auto& spec = service["spec"];
    if (TypeOf(service) == "ExternalName") return;
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

  Status AllocateIp(json::Value& service, const json::Value* old) FLYBALL_REQUIRES(mu_) {
    if (!WantsClusterIp(service)) {
      if (IpOf(service) == "None") service["spec"]["clusterIPs"] = json::Array{"None"};
      return {};
    }
    if (old && IpOf(*old) == IpOf(service) && !IpOf(service).empty()) return {};
    const std::string given(IpOf(service));
    if (given.empty()) return DrawIp(service);
    const auto ip = api::ParseIp(given);
    api::FieldErrors errors;
    const api::FieldPath path("spec.clusterIPs");
    if (!ip || !range_.Contains(*ip)) {
      errors.Invalid(path, json::Array{given},
                     "failed to allocate IP " + given + ": the provided IP (" + given +
                         ") is not in the valid range. The range of valid IPs is " + range_text_);
    } else if (!used_ips_.insert(V4Number(*ip)).second) {
      errors.Invalid(path, json::Array{given},
                     "failed to allocate IP " + given + ": provided IP is already allocated");
    }
    if (!errors.empty()) return Unexpected(InvalidService(service, errors));
    service["spec"]["clusterIPs"] = json::Array{given};
    return {};
  }

  Status DrawIp(json::Value& service) FLYBALL_REQUIRES(mu_) {
    if (used_ips_.size() >= count_)
      return Unexpected(InternalError("failed to allocate a serviceIP: range is full"));
    std::uint32_t ip = 0;
    // The first address is the `kubernetes` Service's own.
    do {
      ip = first_ + static_cast<std::uint32_t>(random_.Below(count_));
    } while (ip == first_ || !used_ips_.insert(ip).second);
    service["spec"]["clusterIP"] = V4Text(ip);
    service["spec"]["clusterIPs"] = json::Array{V4Text(ip)};
    return {};
  }

  Status AllocatePorts(json::Value& service, const json::Value* old) FLYBALL_REQUIRES(mu_) {
    auto* list = service.FindPath({"spec", "ports"});
    if (!list || !list->is_array() || !WantsNodePorts(service)) return {};
    const auto held = old ? PortsOf(*old) : std::set<int>{};
    std::set<int> taken;
    const bool local = service["spec"]["externalTrafficPolicy"].string_or("") == "Local";
    if (TypeOf(service) == "LoadBalancer" && local && service["spec"]["healthCheckNodePort"].int_or(0) == 0) {
      const int port = DrawPort();
      if (port != 0) {
        used_ports_.insert(port);
        taken.insert(port);
        service["spec"]["healthCheckNodePort"] = port;
      }
    }
    const auto give_back = [&]() FLYBALL_REQUIRES(mu_) {
      for (const int port : taken) used_ports_.erase(port);
    };
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto& port = list->as_array()[i];
      const auto wanted = static_cast<int>(port["nodePort"].int_or(0));
      if (wanted != 0 && (held.contains(wanted) || taken.contains(wanted))) continue;
      api::FieldErrors errors;
      const int number = wanted != 0 ? wanted : DrawPort();
      const auto path = api::FieldPath("spec.ports").Index(i).Child("nodePort");
      if (number == 0) {
        errors.Internal(path, "failed to allocate a nodePort: range is full");
      } else if (wanted != 0 && (wanted < ports_.first || wanted > ports_.last)) {
        errors.Invalid(path, wanted,
                       "provided port is not in the valid range. The range of valid ports is " +
                           std::to_string(ports_.first) + "-" + std::to_string(ports_.last));
      } else if (!used_ports_.insert(number).second) {
        errors.Invalid(path, wanted, "provided port is already allocated");
      }
      if (!errors.empty()) {
        give_back();
        return Unexpected(InvalidService(service, errors));
      }
      taken.insert(number);
      port["nodePort"] = number;
    }
    return {};
  }

  // A free port, not yet taken; 0 if there is none.
  int DrawPort() FLYBALL_REQUIRES(mu_) {
    const int total = ports_.last - ports_.first + 1;
    const int start = static_cast<int>(random_.Below(static_cast<std::uint64_t>(total)));
    for (int i = 0; i < total; ++i) {
      const int port = ports_.first + (start + i) % total;
      if (!used_ports_.contains(port)) return port;
    }
    return 0;
  }

  const std::uint32_t first_, count_;
  const api::Cidr range_;
  const std::string range_text_;
  const PortRange ports_;
  Random& random_;
  Mutex mu_;
  std::set<std::uint32_t> used_ips_ FLYBALL_GUARDED_BY(mu_);
  std::set<int> used_ports_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

Result<std::unique_ptr<ObjectLifecycle>> NewServiceAllocator(const std::string& cluster_ip_range,
                                                             const std::string& node_port_range,
                                                             const Catalog& catalog, Random& random) {
  const auto range = api::ParseCidr(cluster_ip_range);
  if (!range || !range->address.is_v4 || range->prefix > 30 || range->prefix < 8)
    return Unexpected(
        BadRequest("--service-cluster-ip-range: want an IPv4 range such as 10.96.0.0/16, got \"" +
                   cluster_ip_range + "\""));
  FLYBALL_ASSIGN(const PortRange ports, ParsePortRange(node_port_range));
  return std::make_unique<ServiceAllocator>(*range, ports, catalog, random);
}

}  // namespace flyball::server
