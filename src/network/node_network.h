// What the parts of a cluster's network share: which addresses are whose, and in which namespace of the
// kernel a node does its work. Plain values, known before the first pod; nothing in them changes.
//
// One node has the machine's own network stack. Several nodes on one machine have a network namespace each,
// joined by a bridge in the machine's. In both cases each pod has a link of its own to its node, and whatever
// it sends is routed there: packet filters of the hooks `prerouting`, `forward`, `input` and `postrouting`
// see all packets from and to pods, both ways, also those between two pods of a node. There is no bridge
// between pods, so that none of this depends on br_netfilter or hairpin ports.
//
// Who owns what in a node's namespace: everything has a name that begins with NodeNetwork::name. `pods` has
// the link of that name, which holds the gateway's addresses, a link for each pod (PodLinks) and the nftables
// table Table("pods"). Every other part has a table of its own, Table("its name"), which it creates and
// deletes whole; what an earlier program has left under that name is replaced.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/netlink/network_namespace.h"

namespace flyball::network {

// The bit of packet marks that asks for the node's own address as source (kube-proxy's KUBE-MARK-MASQ). The
// postrouting chain of Table("pods") masquerades what has it, for every part.
inline constexpr std::uint32_t kMasqueradeMark = 0x4000;

struct NodeNetwork {
  std::string node;                    // the Node's name
  std::string name;                    // "fb1a2b3c": of its cluster, by the data folder
  NetworkNamespace::Ptr ns;            // where links, routes and filters of the node are: see Run
  bool machine = true;                 // that is the machine's own
  std::vector<std::string> addresses;  // the node's, as in its status; one a family

  // Matches the names of pods' links, as nftables writes it: iifname "fb1a2b3cp*" is what pods send.
  std::string PodLinks() const { return name + "p*"; }
  // The name of a part's nftables table: "fb1a2b3c_services".
  std::string Table(const std::string& part) const { return name + "_" + part; }
};

// The ranges of a cluster: one a family each, IPv4 first.
struct ClusterNetwork {
  std::vector<std::string> pod_cidrs;      // of all nodes' pods
  std::vector<std::string> service_cidrs;  // cluster IPs
  std::string api_address;  // where pods and nodes reach the API server: on this machine; empty: as it binds
  std::string dns_address;  // the cluster IP of DNS, which pods have in their resolv.conf; empty: none
  std::string dns_domain = "cluster.local";
};

}  // namespace flyball::network
