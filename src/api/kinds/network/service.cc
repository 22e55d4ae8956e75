#include "api/kinds/network/service.h"

#include <set>
#include <string>

#include "api/kinds/network/service_addresses.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kMaxAffinitySeconds = 86400;
constexpr std::string_view kOnlyBalanced = "may only be used when `type` is 'LoadBalancer'";

void ValidateServicePort(const Value& port, bool needs_name, std::set<std::string_view>& names,
                         const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(port, "name");
  if (needs_name && name.empty()) {
    errors.Required(path.Child("name"));
  } else if (!name.empty()) {
    CheckFormat("dns-label", name, path.Child("name"), errors);
    if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
  }
  const std::int64_t number = Number(port, "port");
  AddProblems(PortNumberProblems(number), path.Child("port"), number, errors);
  CheckProtocol(Text(port, "protocol"), path.Child("protocol"), errors);
  CheckPortNumberOrName(port["targetPort"], path.Child("targetPort"), errors);
  if (Has(port, "appProtocol")) {
    CheckFormat("qualified-name", Text(port, "appProtocol"), path.Child("appProtocol"), errors);
  }
}

void ValidateServiceType(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(spec, "type");
  if ((type == "LoadBalancer" || type == "NodePort") && IsHeadless(spec)) {
    errors.Invalid(path.Child("clusterIPs").Index(0), "None",
                   "may not be set to 'None' for " + std::string(type) + " services");
  }
  if (type != "ExternalName") return;
  constexpr std::string_view kNotExternal = "may not be set for ExternalName services";
  for (const char* field : {"clusterIPs", "ipFamilies"}) {
    if (spec[field].size() > 0) errors.Forbidden(path.Child(field), kNotExternal);
  }
  if (Has(spec, "ipFamilyPolicy")) errors.Forbidden(path.Child("ipFamilyPolicy"), kNotExternal);
  std::string_view name = Text(spec, "externalName");
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return errors.Required(path.Child("externalName"));
  CheckFormat("dns-subdomain", name, path.Child("externalName"), errors);
}

void ValidateSessionAffinity(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view affinity = Text(spec, "sessionAffinity");
  RequireOneOf(affinity, {"ClientIP", "None"}, path.Child("sessionAffinity"), errors);
  const FieldPath config = path.Child("sessionAffinityConfig");
  if (affinity == "None" && Has(spec, "sessionAffinityConfig")) {
    errors.Forbidden(config, "must not be set when session affinity is None");
  }
  if (affinity != "ClientIP") return;
  const Value& timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
  if (timeout.is_null()) return errors.Required(config, "when session affinity type is ClientIP");
  if (timeout.int_or(0) <= 0 || timeout.int_or(0) > kMaxAffinitySeconds) {
    errors.Invalid(config.Child("clientIP").Child("timeoutSeconds"), timeout,
                   "must be greater than 0 and less than 86400");
  }
}

void CheckDuplicatePorts(const Value& ports, const FieldPath& list, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::int64_t>> node_ports, numbers;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.as_array()[i];
    const std::int64_t node_port = Number(port, "nodePort");
    if (node_port != 0 && !node_ports.emplace(Text(port, "protocol"), node_port).second) {
      errors.Duplicate(list.Index(i).Child("nodePort"), node_port);
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.as_array()[i];
    if (numbers.emplace(Text(port, "protocol"), Number(port, "port")).second) continue;
    errors.Duplicate(list.Index(i), json::Object{{"Name", ""},
                                                 {"Protocol", port["protocol"]},
                                                 {"AppProtocol", nullptr},
                                                 {"Port", port["port"]},
                                                 {"TargetPort", 0},
                                                 {"NodePort", 0}});
  }
}

void ValidateSourceRanges(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& ranges = spec["loadBalancerSourceRanges"];
  if (ranges.size() == 0) return;
  if (Text(spec, "type") != "LoadBalancer") errors.Forbidden(path, kOnlyBalanced);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::string_view range = ranges.as_array()[i].string_or({});
    while (range.starts_with(' ')) range.remove_prefix(1);
    while (range.ends_with(' ')) range.remove_suffix(1);
    CheckFormat("cidr", range, path.Index(i), errors);
  }
}

void ValidateBalancer(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const bool balanced = Text(spec, "type") == "LoadBalancer";
  const FieldPath class_path = path.Child("loadBalancerClass");
  if (!balanced && Has(spec, "allocateLoadBalancerNodePorts")) {
    errors.Forbidden(path.Child("allocateLoadBalancerNodePorts"), kOnlyBalanced);
  }
  if (!Has(spec, "loadBalancerClass")) return;
  if (!balanced) return errors.Forbidden(class_path, kOnlyBalanced);
  CheckFormat("qualified-name", Text(spec, "loadBalancerClass"), class_path, errors);
}

void ValidateTrafficPolicies(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view external = Text(spec, "externalTrafficPolicy");
  if (IsExternallyAccessible(spec)) {
    RequireOneOf(external, {"Cluster", "Local"}, path.Child("externalTrafficPolicy"), errors);
  } else if (!external.empty()) {
    errors.Invalid(path.Child("externalTrafficPolicy"), external,
                   "may only be set for externally-accessible services");
  }
  const std::int64_t check_port = Number(spec, "healthCheckNodePort");
  if (check_port != 0 && !NeedsHealthCheck(spec)) {
    errors.Invalid(path.Child("healthCheckNodePort"), check_port,
                   "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  } else if (check_port != 0) {
    AddProblems(PortNumberProblems(check_port), path.Child("healthCheckNodePort"), check_port, errors);
  }
  if (!Has(spec, "internalTrafficPolicy")) {
    if (NeedsClusterIp(spec)) errors.Required(path.Child("internalTrafficPolicy"));
  } else {
    CheckOneOf(Text(spec, "internalTrafficPolicy"), {"Cluster", "Local"}, path.Child("internalTrafficPolicy"),
               errors);
  }
  if (Has(spec, "trafficDistribution")) {
    CheckOneOf(Text(spec, "trafficDistribution"), {"PreferClose", "PreferSameZone", "PreferSameNode"},
               path.Child("trafficDistribution"), errors);
  }
}

void ValidateExternalIps(const Value& ips, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < ips.size(); ++i) {
    const std::string_view ip = ips.as_array()[i].string_or({});
    const Problems problems = FormatProblems("ip", ip);
    AddProblems(problems, path.Index(i), ip, errors);
    if (problems.empty()) CheckNonSpecialIp(ip, path.Index(i), errors);
  }
}

void ValidateService(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& ports = spec["ports"];
  const std::string_view type = Text(spec, "type");
  if (ports.size() == 0 && !IsHeadless(spec) && type != "ExternalName") errors.Required(path.Child("ports"));
  ValidateServiceType(spec, path, errors);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ValidateServicePort(ports.as_array()[i], ports.size() > 1, names, path.Child("ports").Index(i), errors);
  }
  ValidateLabels(spec["selector"], path.Child("selector"), errors);
  ValidateSessionAffinity(spec, path, errors);
  ValidateClusterIps(spec, path, errors);
  ValidateExternalIps(spec["externalIPs"], path.Child("externalIPs"), errors);
  RequireOneOf(type, {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, path.Child("type"), errors);
  for (std::size_t i = 0; type == "ClusterIP" && i < ports.size(); ++i) {
    if (Number(ports.as_array()[i], "nodePort") == 0) continue;
    errors.Forbidden(path.Child("ports").Index(i).Child("nodePort"),
                     "may not be used when `type` is 'ClusterIP'");
  }
  CheckDuplicatePorts(ports, path.Child("ports"), errors);
  ValidateSourceRanges(spec, path.Child("LoadBalancerSourceRanges"), errors);
  ValidateBalancer(spec, path, errors);
  ValidateTrafficPolicies(spec, path, errors);
}

void ValidateServiceUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const Value& before = old["spec"];
  ValidateClusterIpsUpdate(spec, before, errors);
  const bool balanced = Text(spec, "type") == "LoadBalancer" && Text(before, "type") == "LoadBalancer";
  if (balanced && spec["loadBalancerClass"] != before["loadBalancerClass"]) {
    errors.Invalid(FieldPath("spec.loadBalancerClass"), spec["loadBalancerClass"], "may not change once set");
  }
  if (NeedsHealthCheck(spec) && NeedsHealthCheck(before) &&
      spec["healthCheckNodePort"] != before["healthCheckNodePort"]) {
    errors.Forbidden(FieldPath("spec.healthCheckNodePort"), kImmutableText);
  }
}

void ValidateServiceStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  const FieldPath list("status.loadBalancer.ingress");
  const Value& points = object["status"]["loadBalancer"]["ingress"];
  if (Text(object["spec"], "type") != "LoadBalancer" && points.size() > 0) {
    return errors.Forbidden(list, "may only be used when `spec.type` is 'LoadBalancer'");
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Value& point = points.as_array()[i];
    const std::string_view ip = Text(point, "ip");
    if (!ip.empty()) CheckFormat("ip", ip, list.Index(i).Child("ip"), errors);
    if (!Has(point, "ipMode")) {
      if (!ip.empty()) errors.Required(list.Index(i).Child("ipMode"), "must be specified when `ip` is set");
    } else if (ip.empty()) {
      errors.Forbidden(list.Index(i).Child("ipMode"), "may not be specified when `ip` is not set");
    } else {
      CheckOneOf(Text(point, "ipMode"), {"Proxy", "VIP"}, list.Index(i).Child("ipMode"), errors);
    }
    if (const std::string_view host = Text(point, "hostname"); !host.empty()) {
      CheckFormat("dns-subdomain", host, list.Index(i).Child("hostname"), errors);
      if (IpProblems(host).empty()) {
        errors.Invalid(list.Index(i).Child("hostname"), host, "must be a DNS name, not an IP address");
      }
    }
  }
}

}  // namespace

const KindHooks kServiceHooks = {
    .group = "",
    .kind = "Service",
    .set_defaults = SetServiceDefaults,
    .prepare_for_create = PrepareServiceForCreate,
    .prepare_for_update = PrepareServiceForUpdate,
    .validate = ValidateService,
    .validate_update = ValidateServiceUpdate,
    .validate_status_update = ValidateServiceStatusUpdate,
    .name_format = "dns-label",
    .allow_create_on_update = true,
    .return_deleted_object = true,
    .warnings = WarnOfService,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
