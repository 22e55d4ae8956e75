#include "network/services/service_rules.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "network/services/service_chains.h"

namespace flyball::network {
namespace {

bool SameTargets(const Targets& a, const Targets& b) {
  return a == b || (a && b && *a == *b);
}

std::vector<api::Cidr> OfFamily(const std::vector<api::Cidr>& cidrs, IpFamily family) {
  std::vector<api::Cidr> out;
  for (const api::Cidr& cidr : cidrs)
    if (IpFamilyOf(cidr.address) == family) out.push_back(cidr);
  return out;
}

Targets Slots(const Targets& before, std::vector<Target> wanted) {
  if (wanted.empty()) return nullptr;
  auto kept = before ? KeepSlots(*before, std::move(wanted)) : std::move(wanted);
  if (before && kept == *before) return before;
  return std::make_shared<const std::vector<Target>>(std::move(kept));
}

// Builds the rules of one port of a Service.
class PortRules {
 public:
  PortRules(const ServicePortInfo& port, const EndpointChoice& choice, const ServiceTableOptions& options,
            ServiceRules& to)
      : port_(port), choice_(choice), options_(options), name_(PortName(port)), to_(to) {}

  void Build(const ServiceRules& before, const std::vector<api::IpAddress>& node_addresses) {
    KeepTargets(before);
    if (port_.affinity_seconds && choice_.any) AddAffinityChains(port_, choice_, options_, to_);
    to_.cluster_ips.push_back(port_.cluster_ip);
    AddPlace(port_.cluster_ip, Internal());
    const Frontend external = External();
    for (const api::IpAddress& ip : port_.external_ips) AddPlace(ip, external);
    AddLoadBalancer(external, node_addresses);
    if (port_.node_port)
      to_.frontends.insert_or_assign(Place{true, {}, port_.protocol, port_.node_port}, external);
  }

 private:
  void KeepTargets(const ServiceRules& before) {
    const auto known = before.targets.find(name_);
    const ServiceRules::PortTargets had =
        known == before.targets.end() ? ServiceRules::PortTargets{} : known->second;
    targets_ = {Slots(had.cluster, choice_.cluster), Slots(had.local, choice_.local)};
    to_.targets[name_] = targets_;
  }

  // The first place with an address keeps it: an external IP may repeat the cluster IP.
  void AddPlace(const api::IpAddress& address, const Frontend& frontend) {
    to_.frontends.emplace(Place{false, address, port_.protocol, port_.port}, frontend);
  }

  Frontend Internal() {
    Frontend frontend;
    const Targets& targets = port_.internal_local ? targets_.local : targets_.cluster;
    if (!choice_.any) return frontend.refusal = Frontend::Refusal::kReject, frontend;
    if (!targets) {
      to_.dropped_internal = true;
      return frontend.refusal = Frontend::Refusal::kDrop, frontend;
    }
    frontend.route = Frontend::Route::kInternal;
    if (port_.affinity_seconds)
      frontend.chain = (port_.internal_local ? "local-" : "service-") + name_;
    else
      frontend.targets = targets;
    return frontend;
  }

  Frontend External() {
    Frontend frontend;
    if (!port_.external()) return frontend;
    if (!choice_.any) return frontend.refusal = Frontend::Refusal::kReject, frontend;
    frontend.route = port_.external_local ? Frontend::Route::kExternalLocal : Frontend::Route::kExternal;
    if (port_.external_local && !targets_.local) {
      to_.dropped_external = true;
      frontend.refusal = Frontend::Refusal::kDrop;
    }
    if (port_.affinity_seconds) {
      frontend.chain = "external-" + name_;
      return frontend;
    }
    frontend.targets = targets_.cluster;
    if (port_.external_local) frontend.local = targets_.local;
    return frontend;
  }

  void AddLoadBalancer(Frontend frontend, const std::vector<api::IpAddress>& node_addresses) {
    if (port_.load_balancer_ips.empty()) return;
    if (!port_.source_ranges.empty())
      frontend.firewall = AddFirewallChain(port_, options_, node_addresses, to_);
    for (const api::IpAddress& ip : port_.load_balancer_ips) AddPlace(ip, frontend);
  }

  const ServicePortInfo& port_;
  const EndpointChoice& choice_;
  const ServiceTableOptions& options_;
  const std::string name_;
  ServiceRules& to_;
  ServiceRules::PortTargets targets_;
};

void AddHairpins(const ServicePortInfo& port, const std::vector<ServiceEndpoint>& endpoints,
                 const EndpointChoice& choice, ServiceRules& to) {
  const auto used = [&](const Target& target) {
    return std::binary_search(choice.cluster.begin(), choice.cluster.end(), target) ||
           std::binary_search(choice.local.begin(), choice.local.end(), target);
  };
  for (const ServiceEndpoint& endpoint : endpoints)
    if (endpoint.local && used(endpoint.target)) to.hairpins.push_back({endpoint.target, port.protocol});
}

// The addresses of local endpoints that are ready: a pod counts once, however many ports it has.
void AddLocalReady(const std::vector<ServiceEndpoint>& endpoints,
                   std::set<std::array<std::uint8_t, 16>>& addresses) {
  for (const ServiceEndpoint& endpoint : endpoints)
    if (endpoint.local && endpoint.ready) addresses.insert(endpoint.target.address.bytes);
}

// All that serve, ready or not, here or not: a policy does not cut off who is connected already.
void AddUdpServing(const ServicePortInfo& port, const std::vector<ServiceEndpoint>& endpoints,
                   ServiceRules& to) {
  if (port.protocol != TransportProtocol::kUdp) return;
  std::vector<Target> serving;
  for (const ServiceEndpoint& endpoint : endpoints)
    if (endpoint.serving) serving.push_back(endpoint.target);
  const auto shared = std::make_shared<const std::vector<Target>>(std::move(serving));
  const auto add = [&](const api::IpAddress& ip) {
    to.udp_serving.emplace(Place{false, ip, port.protocol, port.port}, shared);
  };
  add(port.cluster_ip);
  for (const api::IpAddress& ip : port.external_ips) add(ip);
  for (const api::IpAddress& ip : port.load_balancer_ips) add(ip);
  if (port.node_port) to.udp_serving.emplace(Place{true, {}, port.protocol, port.node_port}, shared);
}

template <typename T>
void SortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

std::string LocalTraffic::Matches(IpFamily family) const {
  if (!interface.empty()) return "iifname \"" + interface + "\"";
  const std::string networks = CidrSetText(OfFamily(cidrs, family));
  return networks.empty() ? "" : std::string(FamilyWord(family)) + " saddr { " + networks + " }";
}

std::string LocalTraffic::MatchesNot(IpFamily family) const {
  if (!interface.empty()) return "iifname != \"" + interface + "\"";
  const std::string networks = CidrSetText(OfFamily(cidrs, family));
  return networks.empty() ? "" : std::string(FamilyWord(family)) + " saddr != { " + networks + " }";
}

bool Place::operator<(const Place& other) const {
  return std::tie(node_port, address.bytes, protocol, port) <
         std::tie(other.node_port, other.address.bytes, other.protocol, other.port);
}

bool Frontend::operator==(const Frontend& other) const {
  return route == other.route && refusal == other.refusal && chain == other.chain &&
         firewall == other.firewall && SameTargets(targets, other.targets) && SameTargets(local, other.local);
}

bool Hairpin::operator<(const Hairpin& other) const {
  return std::tie(target, protocol) < std::tie(other.target, other.protocol);
}

std::vector<Target> KeepSlots(const std::vector<Target>& slots, std::vector<Target> wanted) {
  const std::set<Target> had(slots.begin(), slots.end());
  const std::set<Target> all(wanted.begin(), wanted.end());
  std::erase_if(wanted, [&](const Target& target) { return had.count(target) != 0; });
  std::vector<Target> kept = slots;
  auto added = wanted.begin();
  for (std::size_t i = 0; i < kept.size();) {
    if (all.count(kept[i])) {
      ++i;
    } else if (added != wanted.end()) {
      kept[i++] = *added++;
    } else {
      kept[i] = kept.back();  // looked at next, if it is another one
      kept.pop_back();
    }
  }
  kept.insert(kept.end(), added, wanted.end());
  return kept;
}

ServiceRules BuildServiceRules(const Service& service, const EndpointSlices& slices,
                               const ServiceTableOptions& options, const NodePlace& place,
                               const std::vector<api::IpAddress>& node_addresses,
                               const ServiceRules& before) {
  ServiceRules rules;
  std::set<std::array<std::uint8_t, 16>> local_ready;
  for (const ServicePortInfo& port : PortsOf(service, options.family)) {
    const auto endpoints = EndpointsOf(slices, port, place.name);
    EndpointChoice choice = ChooseEndpoints(endpoints, port, place);
    PortRules(port, choice, options, rules).Build(before, node_addresses);
    AddHairpins(port, endpoints, choice, rules);
    AddUdpServing(port, endpoints, rules);
    rules.health_check_node_port = port.health_check_node_port;
    AddLocalReady(endpoints, local_ready);
  }
  rules.local_ready = static_cast<int>(local_ready.size());
  SortUnique(rules.hairpins);
  std::sort(rules.cluster_ips.begin(), rules.cluster_ips.end(),
            [](const api::IpAddress& a, const api::IpAddress& b) { return a.bytes < b.bytes; });
  rules.cluster_ips.erase(std::unique(rules.cluster_ips.begin(), rules.cluster_ips.end()),
                          rules.cluster_ips.end());
  return rules;
}

}  // namespace flyball::network
