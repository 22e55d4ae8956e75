// The parts of a cluster that are clients of the API: controllers, scheduler and nodes, each startable alone
// (over HTTPS) or all together in the API server's process.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "cli/addons/cluster_addons.h"
#include "client/client.h"
#include "client/config.h"
#include "client/runtime.h"
#include "controller/manager.h"
#include "network/filters/node_filters.h"
#include "network/pods/machine_network.h"
#include "network/pods/node_routes.h"
#include "node/agent/node_agent.h"
#include "node/certificates/certificate_manager.h"
#include "node/oci/oci_runtime.h"
#include "node/registry/registry_hosts.h"
#include "node/runtime/log_files.h"
#include "node/runtime/runtime.h"
#include "node/streams/node_server.h"

namespace flyball::cli {

// Threads for controllers: machinery that never blocks, and workers that may.
class ClientThreads {
 public:
  ClientThreads() : machinery_("client", 1), workers_("worker", 8) {}
  Runtime runtime() { return {machinery_, Random::System(), metrics_, &workers_, true}; }
  Metrics& metrics() { return metrics_; }
  void Stop() {
    workers_.Stop();
    machinery_.Stop();
  }

 private:
  Metrics metrics_;
  ThreadPool machinery_, workers_;
};

// Flags about the containers of nodes. Those of logs are kubelet's.
struct ContainerFlags {
  std::string log_max_size = "10Mi";
  int log_max_files = 5;
  std::string registries = node::kRegistriesFile;  // registry_hosts.h
  node::HostImage host_image = node::HostImage::kAuto;
  // Kubelet's.
  std::string eviction_hard = node::kDefaultEvictionHard;
  int image_gc_high = 85, image_gc_low = 80;
  std::string image_min_age = "2m0s", image_max_age = "0s";
  std::string system_reserved, kube_reserved;
  std::string enforce_allocatable = "pods";
  std::int64_t pod_max_pids = -1;
  std::string root_dir;  // empty: below the data folder
};
void AddContainerFlags(CLI::App& command, ContainerFlags& flags);
// On a machine that is not for the cluster alone, a disk that is nearly full is nothing that pods can help.
ContainerFlags SharedMachineFlags();
// BadRequest, naming the flag, if they make no sense.
Result<node::ImageGcPolicy> ImageGcPolicyOf(const ContainerFlags& flags);
Result<node::ResourceList> ReservedOf(const ContainerFlags& flags);
// What the cgroup of all pods may use: the machine without what is reserved; nothing if nothing is enforced.
Result<node::ResourceList> EnforcedOf(const ContainerFlags& flags, const node::ResourceList& capacity,
                                      const node::ResourceList& reserved);
Result<node::EvictionThresholds> EvictionOf(const ContainerFlags& flags);
Result<node::LogLimits> LogLimitsOf(const ContainerFlags& flags);

// Flags about the network of pods, kubelet's and kube-controller-manager's where those have them.
struct NetworkFlags {
  enum class Mode { kAuto, kOn, kOff };
  Mode mode = Mode::kAuto;  // auto: where it is possible
  std::string cluster_cidr = network::kDefaultPodCidr;
  int node_cidr_mask_size = 24, node_cidr_mask_size_v6 = 64;
  std::string node_ip;              // empty: the machine's
  int mtu = 0;                      // 0: the machine's
  std::string load_balancer_range;  // empty: Services of this type have the node's address
  std::string cluster_dns, cluster_domain = "cluster.local";
};
void AddNetworkFlags(CLI::App& command, NetworkFlags& flags);

inline constexpr char kSimRulesHelp[] =
    "With --runtime sim: file or folder of KWOK Stages, which say how pods and nodes go on";

struct NodesOptions {
  std::string runtime = "native";   // or "sim"
  std::string pod_manifest_path{};  // of static pods; empty: none
  std::string sim_rules{};          // of which simulated objects go on: StageSet::Load; empty: none
  std::string data_dir;
  std::vector<std::string> names;
  std::string address = "127.0.0.1";  // where there are no networks
  std::string client_ca_pem;          // whose certificates callers of the nodes' server may have
  ContainerFlags containers{};
  // Ask for a serving certificate that the cluster signs, and renew it. Otherwise the server makes its own.
  bool serving_certificate = false;
  bool wait_for_serving = false;       // not ready before it is there (real containers only)
  bool remove_not_ready_taint = true;  // see NodeAgentOptions
  bool keep_containers = false;        // they go on when the node is stopped in good order, too
  // The network of each node's pods; none: they share the machine's.
  std::vector<std::shared_ptr<network::PodAttacher>> networks{};
  std::string no_network_because{};  // for people, if there are none

  // Where the API server reaches a node.
  const std::string& AddressOf(std::size_t index) const {
    return networks.empty() ? address : networks[index]->node().addresses.front();
  }
};

// A certificate that changes while the program runs. Thread-safe.
class CurrentCertificate final : public TlsSource {
 public:
  // `base` has everything but the certificate.
  explicit CurrentCertificate(net::ClientTls base = {}) : base_(std::move(base)) {}
  void Set(const net::KeyPair& pair);
  std::string certificate_pem() const;
  Result<std::optional<net::ClientTls>> Changed() override;

 private:
  mutable Mutex mu_;
  net::ClientTls base_ FLYBALL_GUARDED_BY(mu_);
  bool changed_ FLYBALL_GUARDED_BY(mu_) = false;
};

// How a node reaches the API server and proves who it is.
struct NodeConnection {
  Client client;  // as the node
  // With what its first certificate is asked for; none: `client` has credentials of its own, for ever.
  std::optional<Client> joining{};
  std::shared_ptr<CurrentCertificate> certificate{};  // what `client` presents, if `joining`
};

// One or more nodes of one runtime, and the port their logs are served on. Thread-safe.
class Nodes {
 public:
  // `connect` gives each node a connection with its own identity.
  static Result<std::unique_ptr<Nodes>> Start(
      const NodesOptions& options, Executor& executor,
      const std::function<Result<NodeConnection>(const std::string& name)>& connect);
  ~Nodes();

 private:
  Nodes() = default;
  // One server for all nodes that share a network; each of them may ask who a caller is.
  Status StartServers(const NodesOptions& options);
  node::NodeServer& ServerOf(std::size_t index) {
    return servers_.size() == 1 ? *servers_.front() : *servers_[index];
  }
  void Join(const NodesOptions& options, std::size_t index);
  void Serve(const NodesOptions& options, std::size_t index);

  // In this order: agents end before what they use.
  std::unique_ptr<node::ContainerRuntime> runtime_;
  std::vector<NodeConnection> connections_;
  std::vector<std::unique_ptr<node::NodeServer>> servers_;
  std::vector<std::unique_ptr<node::NodeAgent>> agents_;
  std::vector<std::shared_ptr<node::CertificateManager>> certificates_;
};

// Stops the manager and waits until it has.
void StopManager(Manager& manager);

class ServerProcess;
struct ServerProcessOptions;

// The first name (the machine's, if it is empty), and name-2, name-3 and so on.
std::vector<std::string> NodeNames(int count, const std::string& first = {});

struct LocalClusterOptions {
  std::string controllers = "*";  // as --controllers
  // Others run on the same store: controllers and scheduler work only while they lead. leadership_lost is
  // called when they do not any more: then the program has to end.
  bool leader_election = false;
  std::function<void()> leadership_lost{};
  // Its identities come from the server; certificates for serving are always asked for.
  NodesOptions nodes{};
  std::optional<network::IngressOptions> ingress{};
  bool dns = false;  // a name server for pods, at the network's DNS address
  std::vector<network::AddressRange> load_balancer_ranges{};
  network::MachineNetwork* network = nullptr;  // outlives the cluster; null: pods share the machine's
  int node_cidr_mask_size = 24, node_cidr_mask_size_v6 = 64;
};

// What nodes that join by bootstrap tokens need of the server they join.
void PrepareForLocalCluster(ServerProcessOptions& options);

// Controllers, scheduler and nodes in the API server's process, through the in-process transport.
// Thread-safe.
class LocalCluster {
 public:
  // `server` was started with options that went through PrepareForLocalCluster, and outlives it.
  static Result<std::unique_ptr<LocalCluster>> Start(ServerProcess& server, LocalClusterOptions options);
  const ClusterAddons* addons() const { return addons_.get(); }
  // The caches of the controllers.
  InformerFactory& informers() { return controllers_->informers(); }
  // Calls `done` once, on another thread, when every node is there and ready.
  void OnceNodesAreReady(std::function<void()> done);
  // Ends scheduler, controllers and nodes, in this order, and then the server's watches.
  ~LocalCluster();

 private:
  explicit LocalCluster(ServerProcess& server) : server_(server) {}
  Status StartManagers(const LocalClusterOptions& options);
  static ManagerOptions ManagerOptionsFor(const LocalClusterOptions& options, const char* name);
  // Where containers run, claims get folders of this machine.
  Status StartProvisioner(const NodesOptions& options);
  Status StartNodes(NodesOptions options);
  Status StartAddons(const LocalClusterOptions& options);
  static Result<network::BalancerOptions> BalancerFor(const LocalClusterOptions& options);
  // Services and network policies, where pods have networks of their own.
  Status StartFilters(const network::MachineNetwork& network);
  // Between nodes that have networks of their own.
  Status StartRoutes(const network::MachineNetwork& network);

  ServerProcess& server_;
  std::vector<std::string> node_names_;
  ClientThreads threads_;
  std::optional<Manager> controllers_, scheduler_, provisioner_;
  std::shared_ptr<network::NodeFilters> filters_;  // pods that start use it
  std::unique_ptr<Nodes> nodes_;
  std::unique_ptr<ClusterAddons> addons_;
  std::unique_ptr<network::NodeRoutes> routes_;
};

}  // namespace flyball::cli
