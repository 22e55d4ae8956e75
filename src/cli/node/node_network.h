// JoinedNetwork: pods of this machine with addresses of the node's podCIDR, in a cluster of several machines.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/values/result.h"
#include "client/client.h"
#include "network/filters/node_filters.h"
#include "network/pods/node_routes.h"
#include "network/pods/pod_network.h"

namespace flyball::cli {

struct JoinedNetworkFlags {
  bool on = false;
  std::string cluster_cidr;
  std::string cluster_dns, cluster_domain = "cluster.local";
  int mtu = 0;  // 0: the machine's, less what a tunnel needs
  network::TunnelUse tunnels = network::TunnelUse::kNeeded;
};
void AddJoinedNetworkFlags(CLI::App& command, JoinedNetworkFlags& flags);

// Thread-safe.
class JoinedNetwork {
 public:
  // Takes over what an earlier program with this data folder has left. BadRequest if pods cannot have
  // networks here.
  static Result<std::unique_ptr<JoinedNetwork>> Open(const JoinedNetworkFlags& flags, const std::string& node,
                                                     const std::string& address, const std::string& data_dir);
  // Leaves everything as it is: containers go on, and so does their network.
  ~JoinedNetwork() = default;

  const std::shared_ptr<network::PodNetwork>& pods() const { return pods_; }
  // Routes to other nodes, Services and network policies. `client` may read Nodes, Services, EndpointSlices,
  // ServiceCIDRs, Pods, Namespaces and NetworkPolicies; until it may, they wait.
  Status Follow(const Client& client);

 private:
  JoinedNetwork() = default;

  network::RoutePlace place_;
  std::shared_ptr<network::PodNetwork> pods_;
  std::shared_ptr<network::NodeFilters> filters_;
  std::unique_ptr<network::NodeRoutes> routes_;
};

}  // namespace flyball::cli
