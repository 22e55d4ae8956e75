#include "api/kinds/network/service.h"
#include "api/rules/access.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kAffinitySeconds = 10800;

void SetPortDefaults(Value& spec) {
  Value* ports = spec.Find("ports");
  if (ports == nullptr || !ports->is_array()) return;
  for (Value& port : ports->as_array()) SetIfZero(port, "targetPort", Number(port, "port"));
}

void SetAffinityDefaults(Value& spec) {
  if (Text(spec, "sessionAffinity") == "None") return Remove(spec, "sessionAffinityConfig");
  if (Text(spec, "sessionAffinity") != "ClientIP") return;
  if (Has(Get(Get(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds")) return;
  spec["sessionAffinityConfig"] =
      json::Object{{"clientIP", json::Object{{"timeoutSeconds", kAffinitySeconds}}}};
}

// clusterIP and the first of clusterIPs are two names of one thing: whichever the client changed wins.
void NormalizeClusterIps(Value& spec, const Value* old) {
  const std::string ip(Text(spec, "clusterIP"));
  if (old == nullptr) {
    if (!ip.empty() && Get(spec, "clusterIPs").size() == 0) spec["clusterIPs"] = json::Array{ip};
    return;
  }
  const bool same_list = Get(spec, "clusterIPs") == (*old)["clusterIPs"];
  const std::string_view old_ip = Text(*old, "clusterIP");
  if (!same_list || ip == old_ip) return;
  if (ip.empty()) return Remove(spec, "clusterIPs");
  spec["clusterIPs"] = json::Array{ip};
}

const Value* SamePort(const Value& port, const Value& old_ports) {
  for (const Value& old : Items(old_ports)) {
    if (old["protocol"] == port["protocol"] && old["port"] == port["port"]) return &old;
  }
  return nullptr;
}

// What the server allocated stays allocated when a client writes the object without it.
void KeepAllocated(Value& spec, const Value& old) {
  if (NeedsClusterIp(spec) && NeedsClusterIp(old)) {
    if (Text(spec, "clusterIP").empty() && Has(old, "clusterIP")) spec["clusterIP"] = old["clusterIP"];
    const bool same = Get(spec, "clusterIP") == old["clusterIP"];
    if (same && Get(spec, "clusterIPs").size() == 0 && Has(old, "clusterIPs"))
      spec["clusterIPs"] = old["clusterIPs"];
  }
  Value* ports = spec.Find("ports");
  if (NeedsNodePorts(spec) && NeedsNodePorts(old) && ports != nullptr && ports->is_array()) {
    for (Value& port : ports->as_array()) {
      const Value* before = SamePort(port, old["ports"]);
      if (before != nullptr && Number(port, "nodePort") == 0 && Number(*before, "nodePort") != 0) {
        port["nodePort"] = (*before)["nodePort"];
      }
    }
  }
  if (NeedsHealthCheck(spec) && NeedsHealthCheck(old) && Number(spec, "healthCheckNodePort") == 0 &&
      Has(old, "healthCheckNodePort")) {
    spec["healthCheckNodePort"] = old["healthCheckNodePort"];
  }
}

// A client that says nothing of families means those there are (upstream: initIPFamilyFields).
void KeepFamilies(Value& spec, const Value& old) {
  if (!Has(spec, "ipFamilyPolicy") && Has(old, "ipFamilyPolicy"))
    spec["ipFamilyPolicy"] = old["ipFamilyPolicy"];
  if (Get(spec, "ipFamilies").size() == 0 && Get(spec, "clusterIPs") == old["clusterIPs"] &&
      Has(old, "ipFamilies"))
    spec["ipFamilies"] = old["ipFamilies"];
}

void DropUnchanged(Value& spec, const Value& old, std::initializer_list<const char*> fields) {
  for (const char* field : fields) {
    if (Get(spec, field) == old[field]) Remove(spec, field);
  }
}

void DropNodePorts(Value& spec, const Value& old) {
  Value* ports = spec.Find("ports");
  if (ports == nullptr || !ports->is_array()) return;
  for (Value& port : ports->as_array()) {
    const Value* before = SamePort(port, old["ports"]);
    if (before != nullptr && Get(port, "nodePort") == Get(*before, "nodePort")) Remove(port, "nodePort");
  }
}

// Fields that meant something for the old type only go, unless the client set them anew.
void DropOfOldType(Value& spec, const Value& old) {
  if (NeedsClusterIp(old) && !NeedsClusterIp(spec)) {
    DropUnchanged(spec, old, {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"});
  }
  if (NeedsNodePorts(old) && !NeedsNodePorts(spec)) DropNodePorts(spec, old);
  if (NeedsHealthCheck(old) && !NeedsHealthCheck(spec)) DropUnchanged(spec, old, {"healthCheckNodePort"});
  const bool balanced = Text(old, "type") == "LoadBalancer", stays = Text(spec, "type") == "LoadBalancer";
  if (balanced && !stays) DropUnchanged(spec, old, {"allocateLoadBalancerNodePorts", "loadBalancerClass"});
  if (IsExternallyAccessible(old) && !IsExternallyAccessible(spec)) {
    DropUnchanged(spec, old, {"externalTrafficPolicy"});
  }
}

}  // namespace

bool NeedsClusterIp(const Value& spec) {
  const std::string_view type = Text(spec, "type");
  return type == "ClusterIP" || type == "NodePort" || type == "LoadBalancer";
}

bool NeedsNodePorts(const Value& spec) {
  const std::string_view type = Text(spec, "type");
  return type == "NodePort" ||
         (type == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].bool_or(true));
}

bool IsExternallyAccessible(const Value& spec) {
  const std::string_view type = Text(spec, "type");
  return type == "LoadBalancer" || type == "NodePort" ||
         (type == "ClusterIP" && spec["externalIPs"].size() > 0);
}

bool NeedsHealthCheck(const Value& spec) {
  return Text(spec, "type") == "LoadBalancer" && Text(spec, "externalTrafficPolicy") == "Local";
}

void SetServiceDefaults(Value& object) {
  Value* found = object.Find("spec");
  if (found == nullptr || !found->is_object()) return;
  Value& spec = *found;
  SetAffinityDefaults(spec);
  SetPortDefaults(spec);
  if (IsExternallyAccessible(spec)) SetIfZero(spec, "externalTrafficPolicy", "Cluster");
  if (NeedsClusterIp(spec)) SetIfAbsent(spec, "internalTrafficPolicy", "Cluster");
  if (Text(spec, "type") == "LoadBalancer") SetIfAbsent(spec, "allocateLoadBalancerNodePorts", true);
  Value* ingress = object.FindPath({"status", "loadBalancer", "ingress"});
  if (ingress == nullptr || !ingress->is_array()) return;
  for (Value& point : ingress->as_array()) {
    if (!Text(point, "ip").empty()) SetIfAbsent(point, "ipMode", "VIP");
  }
}

void PrepareServiceForCreate(Value& object) {
  NormalizeClusterIps(object["spec"], nullptr);
}

void PrepareServiceForUpdate(Value& object, const Value& old_object) {
  Value& spec = object["spec"];
  const Value& old = old_object["spec"];
  KeepAllocated(spec, old);
  NormalizeClusterIps(spec, &old);
  if (NeedsClusterIp(spec) && NeedsClusterIp(old)) KeepFamilies(spec, old);
  DropOfOldType(spec, old);
  // Whoever balanced it may still be at it; nobody else needs to know.
  if (Value* status = object.Find("status"); status && Text(spec, "type") != "LoadBalancer")
    (*status)["loadBalancer"] = json::Object{};
}

}  // namespace flyball::api
