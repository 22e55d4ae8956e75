#include "network/services/service_endpoint.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace flyball::network {
namespace {

enum class Topology { kNone, kSameNode, kSameZone };

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool ServesWhileEnding(const ServiceEndpoint& endpoint) {
  return endpoint.serving && endpoint.terminating;
}

// Hints count only if all ready endpoints have them, and some are for this node or zone (upstream:
// topologyModeFromHints).
Topology TopologyOf(const std::vector<ServiceEndpoint>& endpoints, const NodePlace& place) {
  bool any = false, all_nodes = true, all_zones = true, for_node = false, for_zone = false;
  for (const ServiceEndpoint& endpoint : endpoints) {
    if (!endpoint.ready) continue;
    any = true;
    all_nodes &= !endpoint.nodes.empty();
    all_zones &= !endpoint.zones.empty();
    for_node |= Has(endpoint.nodes, place.name);
    for_zone |= !place.zone.empty() && Has(endpoint.zones, place.zone);
  }
  if (any && all_nodes && for_node) return Topology::kSameNode;
  if (any && all_zones && for_zone) return Topology::kSameZone;
  return Topology::kNone;
}

bool IsNear(const ServiceEndpoint& endpoint, Topology topology, const NodePlace& place) {
  switch (topology) {
    case Topology::kNone:
      return true;
    case Topology::kSameNode:
      return Has(endpoint.nodes, place.name);
    case Topology::kSameZone:
      return Has(endpoint.zones, place.zone);
  }
  return true;
}

template <typename Predicate>
std::vector<Target> TargetsWhere(const std::vector<ServiceEndpoint>& endpoints, Predicate predicate) {
  std::vector<Target> targets;
  for (const ServiceEndpoint& endpoint : endpoints)
    if (predicate(endpoint)) targets.push_back(endpoint.target);
  return targets;
}

std::vector<Target> ClusterTargets(const std::vector<ServiceEndpoint>& endpoints, const NodePlace& place) {
  const Topology topology = TopologyOf(endpoints, place);
  auto targets = TargetsWhere(
      endpoints, [&](const ServiceEndpoint& e) { return e.ready && IsNear(e, topology, place); });
  return targets.empty() ? TargetsWhere(endpoints, &ServesWhileEnding) : targets;
}

std::vector<Target> LocalTargets(const std::vector<ServiceEndpoint>& endpoints) {
  auto targets = TargetsWhere(endpoints, [](const ServiceEndpoint& e) { return e.local && e.ready; });
  if (!targets.empty()) return targets;
  return TargetsWhere(endpoints, [](const ServiceEndpoint& e) { return e.local && ServesWhileEnding(e); });
}

ServiceEndpoint EndpointFrom(const Endpoint& endpoint, std::string_view node) {
  ServiceEndpoint out;
  out.local = !node.empty() && endpoint.node_name == node;
  out.ready = endpoint.conditions.ready.value_or(true);
  out.serving = endpoint.conditions.serving.value_or(true);
  out.terminating = endpoint.conditions.terminating.value_or(false);
  if (endpoint.hints) {
    for (const ForZone& zone : endpoint.hints->for_zones) out.zones.push_back(zone.name);
    for (const ForNode& hint : endpoint.hints->for_nodes) out.nodes.push_back(hint.name);
  }
  return out;
}

// An address may be in two slices, or belong to a pod that ends and to one that begins: the one that does not
// end counts.
void AddEndpoint(std::map<Target, ServiceEndpoint>& to, ServiceEndpoint endpoint) {
  const auto [known, added] = to.try_emplace(endpoint.target, endpoint);
  if (!added && !endpoint.terminating) known->second = std::move(endpoint);
}

std::optional<std::uint16_t> PortIn(const EndpointSlice& slice, const ServicePortInfo& wanted) {
  for (const EndpointSlicePort& port : slice.ports)
    if (port.name.value_or("") == wanted.port_name &&
        ParseProtocol(port.protocol.value_or("")) == wanted.protocol)
      return ParsePort(port.port.value_or(0));
  return std::nullopt;
}

}  // namespace

bool Target::operator<(const Target& other) const {
  return std::tie(address.bytes, port) < std::tie(other.address.bytes, other.port);
}

std::vector<ServiceEndpoint> EndpointsOf(const EndpointSlices& slices, const ServicePortInfo& port,
                                         std::string_view node) {
  const IpFamily family = IpFamilyOf(port.cluster_ip);
  std::map<Target, ServiceEndpoint> found;
  for (const auto& slice : slices) {
    const auto number = PortIn(*slice, port);
    if (!number || slice->address_type != FamilyName(family)) continue;
    for (const Endpoint& endpoint : slice->endpoints) {
      const auto address = endpoint.addresses.empty() ? std::nullopt : api::ParseIp(endpoint.addresses[0]);
      if (!address || IpFamilyOf(*address) != family || address->IsUnspecified()) continue;
      ServiceEndpoint read = EndpointFrom(endpoint, node);
      read.target = {*address, *number};
      AddEndpoint(found, std::move(read));
    }
  }
  std::vector<ServiceEndpoint> endpoints;
  endpoints.reserve(found.size());
  for (auto& [target, endpoint] : found) endpoints.push_back(std::move(endpoint));
  return endpoints;
}

EndpointChoice ChooseEndpoints(const std::vector<ServiceEndpoint>& endpoints, const ServicePortInfo& port,
                               const NodePlace& place) {
  EndpointChoice choice;
  if (port.uses_cluster_endpoints()) choice.cluster = ClusterTargets(endpoints, place);
  if (port.uses_local_endpoints()) choice.local = LocalTargets(endpoints);
  choice.any = std::any_of(endpoints.begin(), endpoints.end(),
                           [](const ServiceEndpoint& e) { return e.ready || ServesWhileEnding(e); });
  return choice;
}

}  // namespace flyball::network
