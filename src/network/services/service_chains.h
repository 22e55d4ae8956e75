// The text of chains: those that Services share, and those that one port of a Service has for itself.
// Functions of values.
#pragma once

#include <map>
#include <string>

#include "network/services/service_rules.h"

namespace flyball::network {

// Local targets have slots from here on in the map of targets: a Service has fewer endpoints than that.
inline constexpr std::uint32_t kFirstLocalSlot = 1u << 20;

// "ip" or "ip6".
std::string_view FamilyWord(IpFamily family);
// "10.0.0.1", "10.0.0.1:80", "[::1]:80".
std::string TargetText(const Target& target);
std::string CidrText(const api::Cidr& cidr);
// The elements of a set of these networks, without those inside others: nftables takes no overlaps.
std::string CidrSetText(std::vector<api::Cidr> cidrs);

// The map from slots to targets for a place. There is one for each protocol because nft binds what follows
// "dnat ... to" to one protocol.
std::string TargetsMap(const Place& place);

struct NamedChain {
  std::string name, rules;
};
// The chain that a place of this route uses, and those that it goes to. The first is the one to go to.
std::vector<NamedChain> SharedChains(const Place& place, const Frontend& frontend,
                                     const ServiceTableOptions& options);

// "ns/name/tcp/port": ends up in names of chains.
std::string PortName(const ServicePortInfo& port);

// Adds the chains and sets for session affinity of a port with these targets.
void AddAffinityChains(const ServicePortInfo& port, const EndpointChoice& choice,
                       const ServiceTableOptions& options, ServiceRules& to);
// The chain that turns away who is not among the source ranges; its name.
std::string AddFirewallChain(const ServicePortInfo& port, const ServiceTableOptions& options,
                             const std::vector<api::IpAddress>& node_addresses, ServiceRules& to);

}  // namespace flyball::network
