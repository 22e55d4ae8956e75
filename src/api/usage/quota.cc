#include "api/usage/quota.h"

#include <algorithm>
#include <array>
#include <vector>

#include "api/values/time.h"

namespace flyball::api {
namespace {

constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kRequests = "requests.";
constexpr std::string_view kLimits = "limits.";
constexpr std::string_view kStorageClassInfix = ".storageclass.storage.k8s.io/";
// Counted under their own name too, from the time before "count/".
constexpr std::array<std::string_view, 4> kPlainCounts = {"configmaps", "secrets", "replicationcontrollers",
                                                          "resourcequotas"};
constexpr std::array<std::string_view, 3> kCompute = {"cpu", "memory", "ephemeral-storage"};

bool IsPods(const QuotaKind& kind) {
  return kind.group.empty() && kind.plural == "pods";
}
bool IsCore(const QuotaKind& kind, std::string_view plural) {
  return kind.group.empty() && kind.plural == plural;
}

std::string CountName(const QuotaKind& kind) {
  std::string name = "count/" + std::string(kind.plural);
  if (!kind.group.empty()) name += "." + std::string(kind.group);
  return name;
}

bool IsCompute(std::string_view name) {
  return std::find(kCompute.begin(), kCompute.end(), name) != kCompute.end();
}

// A resource of a vendor: "example.com/gpu" (upstream: IsExtendedResourceName).
bool IsExtended(std::string_view name) {
  return name.find('/') != std::string_view::npos && name.find("kubernetes.io/") == std::string_view::npos &&
         !name.starts_with(kRequests);
}

std::string Join(std::string_view prefix, std::string_view name) {
  return std::string(prefix) + std::string(name);
}

ResourceAmounts ComputeUsage(const ResourceAmounts& requests, const ResourceAmounts& limits) {
  ResourceAmounts usage{{"pods", Quantity(1)}};
  for (const auto& [name, quantity] : requests) {
    const bool plain = IsCompute(name) || name.starts_with(kHugePages);
    if (plain) usage[name] = quantity;
    if (plain || IsExtended(name)) usage[Join(kRequests, name)] = quantity;
  }
  for (const auto& [name, quantity] : limits)
    if (IsCompute(name)) usage[Join(kLimits, name)] = quantity;
  return usage;
}

bool IsCharged(const json::Value& pod, TimePoint now) {
  const auto phase = pod["status"]["phase"].string_or("");
  if (phase == "Failed" || phase == "Succeeded") return false;
  const auto& metadata = pod["metadata"];
  const auto deleted = ParseTime(metadata["deletionTimestamp"].string_or(""));
  const auto* grace = metadata.Find("deletionGracePeriodSeconds");
  if (!deleted || !grace) return true;
  return now <= deleted->ToTimePoint() + std::chrono::seconds(grace->int_or(0));
}

ResourceAmounts PodUsage(const json::Value& pod, TimePoint now) {
  ResourceAmounts usage{{"count/pods", Quantity(1)}};
  if (!IsCharged(pod, now)) return usage;
  AddAmounts(usage, ComputeUsage(PodResources(pod["spec"], "requests", PodOverhead::kIncluded),
                                 PodResources(pod["spec"], "limits", PodOverhead::kIncluded)));
  return usage;
}

ResourceAmounts ServiceUsage(const json::Value& service) {
  const auto& spec = service["spec"];
  const auto type = spec["type"].string_or("");
  const auto ports = static_cast<std::int64_t>(spec["ports"].size());
  std::int64_t node_ports = type == "NodePort" || type == "LoadBalancer" ? ports : 0;
  if (type == "LoadBalancer" && !spec["allocateLoadBalancerNodePorts"].bool_or(true)) {
    node_ports = 0;
    if (spec["ports"].is_array())
      for (const auto& port : spec["ports"].as_array()) node_ports += port["nodePort"].int_or(0) != 0;
  }
  return {{"count/services", Quantity(1)},
          {"services", Quantity(1)},
          {"services.nodeports", Quantity(node_ports)},
          {"services.loadbalancers", Quantity(type == "LoadBalancer" ? 1 : 0)}};
}

ResourceAmounts ClaimUsage(const json::Value& claim) {
  ResourceAmounts usage{{"count/persistentvolumeclaims", Quantity(1)},
                        {"persistentvolumeclaims", Quantity(1)}};
  std::string storage_class(claim["spec"]["storageClassName"].string_or(""));
  if (const auto* old = claim["metadata"]["annotations"].Find("volume.beta.kubernetes.io/storage-class"))
    storage_class = old->string_or("");
  const std::string prefix = storage_class.empty() ? "" : storage_class + std::string(kStorageClassInfix);
  if (!prefix.empty()) usage[prefix + "persistentvolumeclaims"] = Quantity(1);
  auto requested = Quantity::Parse(claim["spec"]["resources"]["requests"]["storage"].string_or(""));
  if (!requested) return usage;
  requested->RoundUp(0);
  usage["requests.storage"] = *requested;
  if (!prefix.empty()) usage[prefix + "requests.storage"] = *requested;
  return usage;
}

// A pod that asks for resources as a whole, whatever its containers ask for.
bool HasPodLevelResources(const json::Value& spec) {
  return !spec["resources"]["requests"].empty() || !spec["resources"]["limits"].empty();
}

bool AsksForCompute(const json::Value& resources) {
  for (const std::string_view amounts : {"requests", "limits"})
    for (const std::string_view name : {"cpu", "memory"}) {
      const auto quantity = Quantity::Parse(resources[amounts][name].string_or(""));
      if (quantity && quantity->Sign() > 0) return true;
    }
  return false;
}

bool IsBestEffort(const json::Value& spec) {
  if (HasPodLevelResources(spec)) return !AsksForCompute(spec["resources"]);
  for (const std::string_view list : {"containers", "initContainers"})
    if (const auto& containers = spec[list]; containers.is_array())
      for (const auto& container : containers.as_array())
        if (AsksForCompute(container["resources"])) return false;
  return true;
}

bool AffinityCrossesNamespaces(const json::Value& affinity) {
  const auto crosses = [](const json::Value& term) {
    return !term["namespaces"].empty() || term["namespaceSelector"].is_object();
  };
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    const auto& terms = affinity[kind];
    if (const auto& list = terms["requiredDuringSchedulingIgnoredDuringExecution"]; list.is_array())
      for (const auto& term : list.as_array())
        if (crosses(term)) return true;
    if (const auto& list = terms["preferredDuringSchedulingIgnoredDuringExecution"]; list.is_array())
      for (const auto& weighted : list.as_array())
        if (crosses(weighted["podAffinityTerm"])) return true;
  }
  return false;
}

bool PriorityMatches(const QuotaScope& rule, const json::Value& spec) {
  const std::string name(spec["priorityClassName"].string_or(""));
  if (rule.op == "Exists") return !name.empty();
  if (rule.op == "DoesNotExist") return name.empty();
  const bool listed = std::find(rule.values.begin(), rule.values.end(), name) != rule.values.end();
  return rule.op == "In" ? listed : !listed;
}

bool PodInScope(const QuotaScope& rule, const json::Value& spec) {
  const bool terminating =
      spec["activeDeadlineSeconds"].is_int() && spec["activeDeadlineSeconds"].as_int() >= 0;
  if (rule.name == "Terminating") return terminating;
  if (rule.name == "NotTerminating") return !terminating;
  if (rule.name == "BestEffort") return IsBestEffort(spec);
  if (rule.name == "NotBestEffort") return !IsBestEffort(spec);
  if (rule.name == "PriorityClass") return PriorityMatches(rule, spec);
  if (rule.name == "CrossNamespacePodAffinity") return AffinityCrossesNamespaces(spec["affinity"]);
  return false;
}

}  // namespace

ResourceAmounts QuotaUsage(const QuotaKind& kind, const json::Value& object, TimePoint now) {
  if (IsPods(kind)) return PodUsage(object, now);
  if (IsCore(kind, "services")) return ServiceUsage(object);
  if (IsCore(kind, "persistentvolumeclaims")) return ClaimUsage(object);
  ResourceAmounts usage{{CountName(kind), Quantity(1)}};
  for (const auto plural : kPlainCounts)
    if (IsCore(kind, plural)) usage.emplace(plural, Quantity(1));
  return usage;
}

bool QuotaCounts(const QuotaKind& kind, std::string_view name) {
  if (name == CountName(kind)) return true;
  if (IsPods(kind)) {
    if (name == "pods" || IsCompute(name) || name.starts_with(kHugePages)) return true;
    if (name.starts_with(kLimits)) return IsCompute(name.substr(kLimits.size()));
    if (!name.starts_with(kRequests)) return false;
    const auto rest = name.substr(kRequests.size());
    return IsCompute(rest) || rest.starts_with(kHugePages) || IsExtended(rest);
  }
  if (IsCore(kind, "services"))
    return name == "services" || name == "services.nodeports" || name == "services.loadbalancers";
  if (IsCore(kind, "persistentvolumeclaims"))
    return name == "persistentvolumeclaims" || name == "requests.storage" ||
           name.find(kStorageClassInfix) != std::string_view::npos;
  return std::any_of(kPlainCounts.begin(), kPlainCounts.end(),
                     [&](std::string_view plural) { return name == plural && IsCore(kind, plural); });
}

bool InQuotaScopes(const json::Value& quota_spec, const QuotaKind& kind, const json::Value& object) {
  const auto rules = ScopesOfQuota(quota_spec);
  return std::all_of(rules.begin(), rules.end(),
                     [&](const QuotaScope& rule) { return InQuotaScope(rule, kind, object); });
}

std::vector<QuotaScope> QuotaScopesOf(const json::Value& expressions) {
  std::vector<QuotaScope> rules;
  if (!expressions.is_array()) return rules;
  for (const auto& item : expressions.as_array()) {
    QuotaScope rule{
        std::string(item["scopeName"].string_or("")), std::string(item["operator"].string_or("")), {}};
    if (item["values"].is_array())
      for (const auto& value : item["values"].as_array()) rule.values.emplace_back(value.string_or(""));
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<QuotaScope> ScopesOfQuota(const json::Value& quota_spec) {
  std::vector<QuotaScope> rules;
  if (const auto& scopes = quota_spec["scopes"]; scopes.is_array())
    for (const auto& scope : scopes.as_array())
      rules.push_back({std::string(scope.string_or("")), "Exists", {}});
  for (auto& rule : QuotaScopesOf(quota_spec["scopeSelector"]["matchExpressions"]))
    rules.push_back(std::move(rule));
  return rules;
}

bool InQuotaScope(const QuotaScope& scope, const QuotaKind& kind, const json::Value& object) {
  return IsPods(kind) && PodInScope(scope, object["spec"]);
}

std::string MissingForQuota(const QuotaKind& kind, const std::set<std::string>& hard,
                            const json::Value& object) {
  if (!IsPods(kind) || HasPodLevelResources(object["spec"])) return {};
  std::map<std::string, std::set<std::string>> missing;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const auto& containers = object["spec"][list];
    if (!containers.is_array()) continue;
    for (const auto& container : containers.as_array()) {
      const auto usage = ComputeUsage(ResourceAmountsOf(container["resources"]["requests"]),
                                      ResourceAmountsOf(container["resources"]["limits"]));
      for (const auto name :
           {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
        if (hard.contains(name) && !usage.contains(name))
          missing[name].emplace(container["name"].string_or(""));
    }
  }
  std::string text;
  for (const auto& [name, containers] : missing) {
    text += (text.empty() ? "must specify " : "; ") + name + " for: ";
    for (auto it = containers.begin(); it != containers.end(); ++it)
      text += (it == containers.begin() ? "" : ",") + *it;
  }
  return text;
}

}  // namespace flyball::api
