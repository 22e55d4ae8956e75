// JoinedNetwork: pods of this machine with addresses of the node's podCIDR, in a cluster of several machines.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/values/result.h"
#include "client/client.h"
#include "network/cni/cni_network.h"
#include "network/filters/node_filters.h"
#include "network/pods/node_routes.h"
#include "network/pods/pod_network.h"

namespace flyball::cli {

struct JoinedNetworkFlags {
  enum class Mode { kOff, kOn, kCni };
  Mode mode = Mode::kOff;
  std::string cni_config_folder = network::kCniConfigFolder, cni_plugin_folders = network::kCniPluginFolders;
  std::string cluster_cidr;
  std::string cluster_dns, cluster_domain = "cluster.local";
  int mtu = 0;  // 0: the machine's, less what a tunnel needs
  network::TunnelUse tunnels = network::TunnelUse::kNeeded;
  bool encrypt = false;  // --overlay=wireguard
};
void AddJoinedNetworkFlags(CLI::App& command, JoinedNetworkFlags& flags);

// Thread-safe.
class JoinedNetwork {
 public:
  // Takes over what an earlier program with this data folder has left. BadRequest if pods cannot have
  // networks here.
  static Result<std::unique_ptr<JoinedNetwork>> Open(const JoinedNetworkFlags& flags, const std::string& node,
                                                     const std::vector<std::string>& addresses,
                                                     const std::string& data_dir);
  // Leaves everything as it is: containers go on, and so does their network.
  ~JoinedNetwork() = default;

  std::shared_ptr<network::PodAttacher> pods() const;
  // Routes to other nodes, Services and network policies. `client` may read Nodes, Services, EndpointSlices,
  // ServiceCIDRs, Pods, Namespaces and NetworkPolicies; until it may, they wait.
  Status Follow(const Client& client);

 private:
  JoinedNetwork() = default;
  Status OpenPods(const JoinedNetworkFlags& flags, network::NodeNetwork node, network::ClusterNetwork cluster,
                  const std::string& data_dir);
  Status OpenCni(const JoinedNetworkFlags& flags, network::NodeNetwork node, network::ClusterNetwork cluster,
                 const std::string& data_dir);
  Status FollowCni(const Client& client);

  network::RoutePlace place_;
  std::shared_ptr<network::PodNetwork> pods_;
  std::shared_ptr<network::CniNetwork> cni_;  // or that
  std::shared_ptr<network::NodeFilters> filters_;
  std::unique_ptr<network::NodeRoutes> routes_;
};

}  // namespace flyball::cli
