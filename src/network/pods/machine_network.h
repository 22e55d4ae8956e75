// MachineNetwork: the network of a cluster whose nodes are all on this machine, as `flyball up` runs it.
//
// One node: its pods' links, routes and filters are in the machine's own network namespace, and its address
// is the machine's. Several: each node has a namespace /run/netns/<name>_<node> with an address of the node
// range, joined by the bridge <name> in the machine's, and the machine routes each node's pods by way of it.
// In both cases the first address of the node range is where pods and nodes reach the API server: it is on a
// link that leads nowhere else, and packets to it that come from outside are dropped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "network/node_network.h"
#include "network/pods/pod_network.h"
#include "network/pods/range_choice.h"

namespace flyball::network {

struct MachineNetworkOptions {
  std::string data_dir;            // there already
  std::vector<std::string> nodes;  // their names
  std::string pod_cidr = kDefaultPodCidr;
  std::string service_cidr = kDefaultServiceCidr;
  std::string
      node_ip;  // of the only node, one of each IP family; empty: with which the machine reaches others
  std::uint32_t mtu = 0;
  bool dns = false;         // somebody serves DNS at the tenth cluster IP, as kubeadm has it
  std::string dns_address;  // instead: the user's
  std::string dns_domain = "cluster.local";
};

// Thread-safe.
class MachineNetwork {
 public:
  // Takes over what an earlier program has left.
  static Result<std::unique_ptr<MachineNetwork>> Start(const MachineNetworkOptions& options);
  // Leaves everything as it is.
  ~MachineNetwork() = default;

  const ClusterNetwork& cluster() const { return cluster_; }
  const ClusterRanges& ranges() const { return ranges_; }
  // Of each node, in the order of their names.
  const std::vector<std::shared_ptr<PodNetwork>>& nodes() const { return nodes_; }
  // Where the program itself is; for several nodes, what is between them.
  const NetworkNamespace::Ptr& machine() const { return machine_; }
  // Everything, as if it had never been.
  void RemoveAll();

 private:
  MachineNetwork() = default;
  Status Open(const MachineNetworkOptions& options);
  Status MakeBridge();
  Status ChooseAddresses(const std::string& node_ip, std::vector<std::string>& addresses) const;
  Result<NodeNetwork> MakeNode(const std::string& node, std::size_t index);
  Status FilterMachine();

  ClusterRanges ranges_;
  ClusterNetwork cluster_;
  NetworkNamespace::Ptr machine_;
  std::unique_ptr<Netlink> netlink_;
  std::vector<std::shared_ptr<PodNetwork>> nodes_;
};

// The address of that IP family with which this machine reaches others: by the default route, else the first
// one of a link that is up; empty if there is none.
std::string MachineAddress(bool v4 = true);

}  // namespace flyball::network
