// The packet filters of a node's pods, in the language of nft(8).
#pragma once

#include <string>
#include <vector>

#include "api/types/core.h"
#include "network/node_network.h"

namespace flyball::network {

// A port of the node that is a pod's.
struct HostPort {
  std::string protocol;  // "tcp", "udp", "sctp"
  std::string host_ip;   // empty: every address of the node
  int port = 0, pod_port = 0;
  bool operator==(const HostPort&) const = default;
};
// None if the pod has the node's network: then its processes open those ports themselves.
std::vector<HostPort> HostPortsOf(const Pod& pod);

struct PodFilters {
  NodeNetwork node;
  ClusterNetwork cluster;
  std::vector<std::string> pod_cidrs;  // of this node
  // Packets that are neither from nor to a pod are not forwarded: the machine was no router before, of that
  // IP family.
  bool closed = false, closed_v6 = false;
};

// The name of the chain that keeps the machine from being a router, by which others recognize it.
std::string ClosedChain(bool v6);

// Replaces the table of the node's pods: what leaves is masqueraded, host ports are translated, nobody
// reaches loopback addresses or the API server's from where they should not. It has no host ports yet.
std::string TableCommands(const PodFilters& filters);
// Adds (or deletes) host ports to the table. `ips` are the pod's.
std::string HostPortCommands(const NodeNetwork& node, const char* verb, const std::vector<HostPort>& ports,
                             const std::vector<std::string>& ips);

}  // namespace flyball::network
