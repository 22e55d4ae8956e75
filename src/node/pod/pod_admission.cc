#include "node/pod/pod_admission.h"

#include <fstream>

#include "api/select/matching.h"
#include "api/usage/resource_amounts.h"

namespace flyball::node {
namespace {

constexpr char kAnyAddress[] = "0.0.0.0";

struct HostPort {
  std::string address, protocol;
  int port = 0;

  bool ClashesWith(const HostPort& other) const {
    const bool same_place =
        address == other.address || address == kAnyAddress || other.address == kAnyAddress;
    return port == other.port && protocol == other.protocol && same_place;
  }
};

std::vector<HostPort> HostPortsOf(const PodSpec& spec) {
  std::vector<HostPort> ports;
  const auto add = [&](const Container& container) {
    for (const ContainerPort& port : container.ports)
      if (port.host_port != 0)
        ports.push_back({port.host_ip.empty() ? kAnyAddress : port.host_ip,
                         port.protocol.empty() ? "TCP" : port.protocol, port.host_port});
  };
  for (const Container& container : spec.containers) add(container);
  for (const Container& container : spec.init_containers)
    if (container.restart_policy == "Always") add(container);
  return ports;
}

bool PortsClash(const PodSpec& spec, const PodSpec& other) {
  const auto theirs = HostPortsOf(other);
  for (const HostPort& port : HostPortsOf(spec))
    for (const HostPort& taken : theirs)
      if (port.ClashesWith(taken)) return true;
  return false;
}

PodRejection Predicate(const std::string& name, const std::string& why) {
  return {name, "Predicate " + name + " failed: " + why};
}

PodRejection Insufficient(const std::string& resource, std::int64_t asked, std::int64_t used,
                          std::int64_t there) {
  return {"OutOf" + resource, "Node didn't have enough resource: " + resource +
                                  ", requested: " + std::to_string(asked) +
                                  ", used: " + std::to_string(used) + ", capacity: " + std::to_string(there)};
}

std::int64_t Number(const std::string& resource, const api::Quantity& quantity) {
  return resource == "cpu" ? quantity.MilliValue() : quantity.Value();
}

bool IsExtended(const std::string& resource) {
  return resource.find('/') != std::string::npos && resource.find("kubernetes.io/") == std::string::npos;
}

std::optional<PodRejection> WhyTooLarge(const Pod& pod, const Node& node,
                                        const std::vector<std::shared_ptr<const Pod>>& others) {
  const auto capacity = node.status.allocatable;
  const auto most = capacity.find("pods");
  if (most != capacity.end() && static_cast<std::int64_t>(others.size()) + 1 > most->second.Value())
    return Insufficient("pods", 1, static_cast<std::int64_t>(others.size()), most->second.Value());
  const auto requests = [](const Pod& of) {
    return api::PodResources(ToJson(of.spec), "requests", api::PodOverhead::kIncluded);
  };
  const auto asked = requests(pod);
  if (asked.empty()) return std::nullopt;
  api::ResourceAmounts used;
  for (const auto& other : others) api::AddAmounts(used, requests(*other));
  for (const auto& [name, amount] : asked) {
    const auto there = capacity.find(name);
    // Resources that others manage and this node does not know are none of its business (upstream:
    // removeMissingExtendedResources).
    if (there == capacity.end() && IsExtended(name)) continue;
    const std::int64_t have = there == capacity.end() ? 0 : Number(name, there->second);
    const std::int64_t taken = Number(name, used[name]), wanted = Number(name, amount);
    if (wanted > 0 && wanted > have - taken) return Insufficient(name, wanted, taken, have);
  }
  return std::nullopt;
}

// This machine's kernel has it.
bool HasAppArmor() {
  return std::ifstream("/sys/module/apparmor/parameters/enabled").get() == 'Y';
}

bool AsksForAppArmor(const PodSpec& spec) {
  const auto asks = [](const auto& context) {
    return context && context->app_armor_profile && context->app_armor_profile->type != "Unconfined";
  };
  bool asked = asks(spec.security_context);
  for (const auto* list : {&spec.init_containers, &spec.containers})
    for (const Container& container : *list) asked = asked || asks(container.security_context);
  return asked;
}

bool IsSimulated(const Node& node) {
  return node.status.node_info.container_runtime_version.starts_with("sim://");
}

}  // namespace

std::optional<PodRejection> WhyRejected(const Pod& pod, const Node& node,
                                        const std::vector<std::shared_ptr<const Pod>>& others) {
  // Upstream: security/apparmor.
  if (AsksForAppArmor(pod.spec) && !IsSimulated(node) && !HasAppArmor())
    return PodRejection{"AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"};
  if (auto too_large = WhyTooLarge(pod, node, others)) return too_large;
  if (!MatchesRequiredNodeAffinity(pod.spec, node))
    return Predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  for (const auto& other : others)
    if (PortsClash(pod.spec, other->spec))
      return Predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  return std::nullopt;
}

}  // namespace flyball::node
