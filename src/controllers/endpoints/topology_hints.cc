#include "controllers/endpoints/topology_hints.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

// How much an endpoint may be overloaded relative to its share.
constexpr double kOverload = 0.2;
constexpr char kDisabled[] = "TopologyAwareHintsDisabled";

using Nodes = std::vector<std::shared_ptr<const Node>>;
using Shares = std::map<std::string, double>;

std::string ZoneLabelOf(const Node& node) {
  const auto found = node.metadata.labels.find(kZoneLabel);
  return found == node.metadata.labels.end() ? "" : found->second;
}

double CpusOf(const Node& node) {
  const auto found = node.status.allocatable.find("cpu");
  return found == node.status.allocatable.end() ? 0 : found->second.ToDouble();
}

bool Takes(const Node& node) {
  return IsConditionTrue(node.status.conditions, "Ready") &&
         !node.metadata.labels.contains("node-role.kubernetes.io/control-plane") &&
         !node.metadata.labels.contains("node-role.kubernetes.io/master");
}

// Each zone's share of the CPUs; nothing if a node does not report them, or there is only one zone.
std::optional<Shares> SharesOf(const Nodes& nodes) {
  Shares shares;
  double total = 0;
  for (const auto& node : nodes) {
    if (!Takes(*node)) continue;
    const std::string zone = ZoneLabelOf(*node);
    const double cpus = CpusOf(*node);
    if (zone.empty() || cpus <= 0) return std::nullopt;
    shares[zone] += cpus;
    total += cpus;
  }
  if (shares.size() < 2) return std::nullopt;
  for (auto& [zone, share] : shares) share /= total;
  return shares;
}

// How many endpoints each zone should have, or why that is impossible.
struct Targets {
  std::map<std::string, double> wanted;
  std::string problem;
};

Targets TargetsFor(const Nodes& nodes, std::size_t endpoints) {
  const auto shares = SharesOf(nodes);
  if (!shares)
    return {{}, "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"};
  const std::string counts =
      " (" + std::to_string(endpoints) + " endpoints, " + std::to_string(shares->size()) + " zones)";
  if (shares->size() > endpoints) return {{}, "Insufficient number of endpoints" + counts};
  Targets targets;
  double left = static_cast<double>(endpoints);
  for (const auto& [zone, share] : *shares) {
    const double desired = share * static_cast<double>(endpoints);
    const double minimum = std::ceil(desired / (1 + kOverload));
    targets.wanted[zone] = std::max(desired, minimum);
    left -= minimum;
  }
  if (left < 0)
    return {{},
            "Unable to allocate minimum required endpoints to each zone without exceeding overload "
            "threshold" +
                counts};
  return targets;
}

// The zone with the largest remainder; end() if there is none.
Shares::iterator Most(Shares& left) {
  return std::max_element(left.begin(), left.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

void SetZone(Endpoint& endpoint, const std::string& zone) {
  EndpointHints hints;
  hints.for_zones.push_back({zone});
  endpoint.hints = std::move(hints);
}

// Moves endpoints from zones with too many to zones with too few, one at a time, as long as both gain.
void Share(const Targets& targets, std::map<std::string, std::vector<Endpoint*>>& by_zone) {
  Shares giving, receiving;
  for (const auto& [zone, wanted] : targets.wanted) {
    const double more = static_cast<double>(by_zone[zone].size()) - wanted;
    if (more > 0) giving[zone] = more;
    if (more < 0) receiving[zone] = -more;
  }
  while (!giving.empty() && !receiving.empty()) {
    const auto from = Most(giving), to = Most(receiving);
    if (from->second < 0.5 || to->second < 0.5 || by_zone[from->first].empty()) return;
    SetZone(*by_zone[from->first].back(), to->first);
    by_zone[from->first].pop_back();
    from->second -= 1;
    to->second -= 1;
  }
}

}  // namespace

bool WantsTopologyHints(const Service& service) {
  for (const char* name :
       {"service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"})
    if (const auto mode = service.metadata.annotations.find(name); mode != service.metadata.annotations.end())
      return mode->second == "Auto" || mode->second == "auto";
  return false;
}

bool TopologyChanged(const Node& before, const Node& now) {
  return ZoneLabelOf(before) != ZoneLabelOf(now) || Takes(before) != Takes(now) ||
         CpusOf(before) != CpusOf(now);
}

void TopologyHints::Allot(const Service& service, const std::string& family, const Nodes& nodes,
                          std::vector<Endpoint*> endpoints, EventRecorder& recorder) {
  std::erase_if(endpoints, [](const Endpoint* e) { return !e->conditions.ready.value_or(false); });
  Targets targets = TargetsFor(nodes, endpoints.size());
  if (targets.problem.empty() && std::any_of(endpoints.begin(), endpoints.end(),
                                             [](const Endpoint* e) { return e->zone.value_or("").empty(); }))
    targets.problem = "One or more endpoints do not have a zone specified";
  const std::string key = service.metadata.namespace_ + "/" + service.metadata.name;
  const std::string of_family = ", addressType: " + family;
  if (!targets.problem.empty()) {
    MutexLock lock(mu_);
    enabled_.erase(key);
    recorder.Warning(service, kDisabled, targets.problem + of_family);
    return;
  }
  std::map<std::string, std::vector<Endpoint*>> by_zone;
  for (Endpoint* endpoint : endpoints) {
    SetZone(*endpoint, *endpoint->zone);
    by_zone[*endpoint->zone].push_back(endpoint);
  }
  Share(targets, by_zone);
  MutexLock lock(mu_);
  if (enabled_.insert(key).second)
    recorder.Normal(service, "TopologyAwareHintsEnabled",
                    "Topology Aware Hints has been enabled" + of_family);
}

void TopologyHints::Forget(const Service& service, const std::string& family, EventRecorder& recorder) {
  MutexLock lock(mu_);
  if (enabled_.erase(service.metadata.namespace_ + "/" + service.metadata.name) > 0)
    recorder.Warning(service, kDisabled, "Topology Aware Hints has been disabled, addressType: " + family);
}

void TopologyHints::Forget(const ObjectKey& service) {
  MutexLock lock(mu_);
  enabled_.erase(service.ToString());
}

}  // namespace flyball::controllers
