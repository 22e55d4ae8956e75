#include "controllers/endpoints/service_backends.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/select/matching.h"
#include "controller/objects/owner.h"
#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

std::optional<std::int32_t> ResolvePort(const ServicePort& port, const Pod& pod) {
  if (!port.target_port.is_string()) return port.target_port.number();
  const auto in = [&](const Container& container) -> std::optional<std::int32_t> {
    for (const ContainerPort& known : container.ports)
      if (known.name == port.target_port.text() && known.protocol == port.protocol)
        return known.container_port;
    return std::nullopt;
  };
  for (const Container& container : pod.spec.containers)
    if (const auto found = in(container)) return found;
  // A sidecar runs as long as the other containers.
  for (const Container& container : pod.spec.init_containers)
    if (container.restart_policy == "Always")
      if (const auto found = in(container)) return found;
  return std::nullopt;
}

// Empty if the pod has no address of the family.
std::string AddressIn(const Pod& pod, std::string_view family) {
  for (const PodIP& ip : pod.status.pod_ips)
    if (FamilyOf(ip.ip) == family) return ip.ip;
  return FamilyOf(pod.status.pod_ip) == family ? pod.status.pod_ip : "";
}

std::vector<EndpointPort> PortsOf(const Service& service, const Pod& pod) {
  std::vector<EndpointPort> ports;
  for (const ServicePort& port : service.spec.ports)
    if (const auto number = ResolvePort(port, pod))
      ports.push_back({port.name, *number, port.protocol, port.app_protocol});
  return ports;
}

Backend BackendOf(const Service& service, const std::shared_ptr<const Pod>& pod, std::string address) {
  Backend backend;
  backend.pod = pod;
  backend.address = std::move(address);
  backend.ports = PortsOf(service, *pod);
  backend.serving = IsPodReady(*pod);
  backend.terminating = IsDeleting(pod->metadata);
  backend.ready = service.spec.publish_not_ready_addresses || (backend.serving && !backend.terminating);
  if (!pod->spec.hostname.empty() && pod->spec.subdomain == service.metadata.name)
    backend.hostname = pod->spec.hostname;
  return backend;
}

}  // namespace

std::string_view FamilyOf(std::string_view address) {
  return address.find(':') == std::string_view::npos ? "IPv4" : "IPv6";
}

bool IsHeadless(const Service& service) {
  return service.spec.cluster_ip == "None";
}

bool HasBackends(const Service& service) {
  return !service.spec.selector.empty() && service.spec.type != "ExternalName";
}

std::vector<std::string> FamiliesOf(const Service& service) {
  if (!service.spec.ip_families.empty()) return service.spec.ip_families;
  return {"IPv4"};
}

std::vector<std::shared_ptr<const Pod>> PodsBehind(const Service& service, const Lister<Pod>& pods) {
  return pods.List(service.metadata.namespace_, [&](const Pod& pod) {
    return !pod.status.pod_ip.empty() && !IsPodFinished(pod) &&
           HasLabels(pod.metadata.labels, service.spec.selector);
  });
}

std::vector<Backend> BackendsOf(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods,
                                std::string_view family) {
  std::vector<Backend> backends;
  for (const auto& pod : pods)
    if (std::string address = AddressIn(*pod, family); !address.empty())
      backends.push_back(BackendOf(service, pod, std::move(address)));
  std::sort(backends.begin(), backends.end(), [](const Backend& a, const Backend& b) {
    return std::tie(a.address, a.pod->metadata.uid) < std::tie(b.address, b.pod->metadata.uid);
  });
  return backends;
}

ObjectReference RefToPod(const Pod& pod) {
  ObjectReference ref;
  ref.kind = "Pod";
  ref.namespace_ = pod.metadata.namespace_;
  ref.name = pod.metadata.name;
  ref.uid = pod.metadata.uid;
  return ref;
}

std::vector<ObjectKey> ServicesOf(const Lister<Service>& services, const Pod& pod) {
  std::vector<ObjectKey> keys;
  for (const auto& service : services.List(pod.metadata.namespace_))
    if (HasBackends(*service) && HasLabels(pod.metadata.labels, service->spec.selector))
      keys.push_back({service->metadata.namespace_, service->metadata.name});
  return keys;
}

Predicates<Pod> EndpointChanged() {
  Predicates<Pod> predicates;
  predicates.create = [](const Pod& pod) { return !pod.status.pod_ip.empty(); };
  predicates.update = [](const Pod& a, const Pod& b) {
    return a.status.pod_ip != b.status.pod_ip || a.status.pod_ips != b.status.pod_ips ||
           a.spec.node_name != b.spec.node_name || a.spec.hostname != b.spec.hostname ||
           a.spec.subdomain != b.spec.subdomain || a.metadata.labels != b.metadata.labels ||
           a.status.phase != b.status.phase || IsPodReady(a) != IsPodReady(b) ||
           IsDeleting(a.metadata) != IsDeleting(b.metadata) || a.metadata.uid != b.metadata.uid;
  };
  return predicates;
}

}  // namespace flyball::controllers
