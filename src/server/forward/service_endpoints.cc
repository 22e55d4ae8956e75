#include "server/forward/service_endpoints.h"

#include <algorithm>

#include "server/forward/pod_ready.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

Error Unavailable(const std::string& message) {
  return Error(Reason::kServiceUnavailable, 503, message);
}

const json::Array& ListIn(const json::Value& value) {
  static const json::Array kNone;
  return value.is_array() ? value.as_array() : kNone;
}

void AddFromSlice(const json::Value& slice, const std::string& port_name, std::vector<ServiceEndpoint>& out) {
  const std::string_view ns = slice["metadata"]["namespace"].string_or("");
  for (const auto& port : ListIn(slice["ports"])) {
    if (port["name"].string_or("") != port_name || port["port"].is_null()) continue;
    for (const auto& endpoint : ListIn(slice["endpoints"])) {
      // Unknown counts as ready.
      if (!endpoint["conditions"]["ready"].bool_or(true) || endpoint["addresses"].empty()) continue;
      const auto& target = endpoint["targetRef"];
      const bool pod = target["kind"].string_or("Pod") == "Pod" && target["namespace"].string_or("") == ns;
      out.push_back({std::string(endpoint["addresses"].as_array()[0].string_or("")), port["port"].int_or(0),
                     std::string(pod ? target["name"].string_or("") : "")});
    }
  }
}

bool SelectsPod(const json::Value& service, const json::Value& pod) {
  const auto& selector = service["spec"]["selector"];
  if (!selector.is_object() || selector.empty()) return false;
  for (const auto& [key, value] : selector.as_object())
    if (!(pod["metadata"]["labels"][key] == value)) return false;
  return true;
}

// The number that a service's port has in a pod; 0 if the pod names none so.
std::int64_t PortInPod(const json::Value& pod, const json::Value& service_port) {
  const auto& target = service_port["targetPort"];
  if (!target.is_string()) return target.int_or(service_port["port"].int_or(0));
  for (const auto& container : ListIn(pod["spec"]["containers"]))
    for (const auto& port : ListIn(container["ports"]))
      if (port["name"] == target) return port["containerPort"].int_or(0);
  return 0;
}

void AddLoopbackPods(const Catalog& catalog, const json::Value& service, const std::string& port_name,
                     std::vector<ServiceEndpoint>& out) {
  const std::string ns(service["metadata"]["namespace"].string_or(""));
  if (service["spec"]["selector"].empty()) return;
  for (const auto& object : catalog.Find("", "v1", "pods")->cache->List({.namespace_name = ns}).objects) {
    const json::Value pod = object->ToValue();
    const std::string ip(pod["status"]["podIP"].string_or(""));
    if (!ip.starts_with("127.") && ip != "::1") continue;
    if (!SelectsPod(service, pod) || !IsPodReady(pod)) continue;
    for (const auto& port : ListIn(service["spec"]["ports"]))
      if (port["name"].string_or("") == port_name) out.push_back({ip, PortInPod(pod, port), object->name()});
  }
}

// How many endpoints at the beginning are of one IP family.
std::size_t FirstFamily(const std::vector<ServiceEndpoint>& endpoints) {
  const auto is_v6 = [](const ServiceEndpoint& endpoint) {
    return endpoint.address.find(':') != std::string::npos;
  };
  const bool first = is_v6(endpoints.front());
  const auto other = std::find_if(endpoints.begin(), endpoints.end(),
                                  [&](const ServiceEndpoint& endpoint) { return is_v6(endpoint) != first; });
  return static_cast<std::size_t>(other - endpoints.begin());
}

}  // namespace

std::string HostPort(const std::string& host, std::int64_t port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string ServiceAddress::Url() const {
  return "https://" + HostPort(host, port);
}

const json::Value* FindServicePort(const json::Value& service, std::int64_t port) {
  for (const auto& candidate : ListIn(service["spec"]["ports"]))
    if (candidate["port"].int_or(0) == port) return &candidate;
  return nullptr;
}

std::vector<json::Value> EndpointSlicesOf(const Catalog& catalog, const std::string& namespace_name,
                                          const std::string& name) {
  std::vector<json::Value> slices;
  const auto resource = catalog.Find("discovery.k8s.io", "v1", "endpointslices");
  for (const auto& object : resource->cache->List({.namespace_name = namespace_name}).objects) {
    json::Value slice = object->ToValue();
    if (slice["metadata"]["labels"]["kubernetes.io/service-name"].string_or("") == name)
      slices.push_back(std::move(slice));
  }
  return slices;
}

std::vector<ServiceEndpoint> ReadyEndpoints(const Catalog& catalog, const json::Value& service,
                                            const std::string& port_name) {
  const std::string ns(service["metadata"]["namespace"].string_or(""));
  const std::string name(service["metadata"]["name"].string_or(""));
  const auto& families = ListIn(service["spec"]["ipFamilies"]);
  const std::string_view first = families.empty() ? "" : families[0].string_or("");
  auto slices = EndpointSlicesOf(catalog, ns, name);
  std::stable_partition(slices.begin(), slices.end(), [&](const json::Value& slice) {
    return slice["addressType"].string_or("") == first;
  });
  std::vector<ServiceEndpoint> endpoints;
  for (const auto& slice : slices) AddFromSlice(slice, port_name, endpoints);
  AddLoopbackPods(catalog, service, port_name, endpoints);
  return endpoints;
}

Result<ServiceAddress> ResolveService(const Catalog& catalog, Random& random,
                                      const std::string& namespace_name, const std::string& name,
                                      std::int64_t port) {
  const auto services = catalog.Find("", "v1", "services");
  const auto object = services->cache->Get(ServedResource::CacheKey(namespace_name, name));
  if (!object) return Unexpected(Error(Reason::kNotFound, "service \"" + name + "\" not found"));
  const json::Value service = object->ToValue();
  if (service["spec"]["type"].string_or("") == "ExternalName")
    return ServiceAddress{std::string(service["spec"]["externalName"].string_or("")), port};
  const json::Value* found = FindServicePort(service, port);
  if (!found)
    return Unexpected(
        Unavailable("no service port " + std::to_string(port) + " found for service \"" + name + "\""));
  const auto endpoints = ReadyEndpoints(catalog, service, std::string((*found)["name"].string_or("")));
  if (endpoints.empty())
    return Unexpected(Unavailable("no endpoints available for service \"" + name + "\""));
  const auto& chosen = endpoints[random.Below(FirstFamily(endpoints))];
  return ServiceAddress{chosen.address, chosen.port};
}

}  // namespace flyball::server
