#include "cli/programs/cluster.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <set>

#include "api/values/duration.h"
#include "api/values/ip_address.h"
#include "api/values/quantity.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "base/values/ascii.h"
#include "cli/programs/controller_accounts.h"
#include "cli/programs/node_join.h"
#include "cli/programs/server_process.h"
#include "controller/objects/owner.h"
#include "controllers/controllers.h"
#include "node/oci/node_runtime.h"
#include "node/runtime/sim_runtime.h"
#include "node/volumes/local_path_provisioner.h"
#include "scheduler/scheduler.h"
#include "server/endpoints/component_status.h"

namespace flyball::cli {
namespace {

// Clusters of one machine are told apart as their networks are.
std::string CgroupRootOf(const std::string& data_dir) {
  std::error_code error;
  return "/" + network::NetworkName(std::filesystem::weakly_canonical(data_dir, error).string());
}

// As kubelet names them. Simulated nodes have no machine to keep anything on: they join anew each time.
std::string CertificatePath(const NodesOptions& options, const std::string& node, const std::string& name) {
  if (options.runtime == "sim") return {};
  return options.data_dir + "/node/pki/" + node + "/" + name + "-current.pem";
}

// Off by default in kube-controller-manager, part of "*" here: nodes join by bootstrap tokens and are called
// with certificates that the cluster signs.
constexpr std::array<const char*, 3> kOnHere = {"bootstrap-signer-controller", "token-cleaner-controller",
                                                "kubelet-serving-certificate-approving-controller"};

Result<std::vector<std::string>> EnabledControllers(const std::string& text) {
  FLYBALL_ASSIGN(std::vector<std::string> enabled, controllers::ParseControllers(text));
  if (std::find(enabled.begin(), enabled.end(), "*") != enabled.end())
    enabled.insert(enabled.end(), kOnHere.begin(), kOnHere.end());
  return enabled;
}

// A node of this process: without sockets, but with its own certificate.
NodeConnection ConnectNode(ServerProcess& server, ClientThreads& threads, const Client& joining) {
  auto certificate = std::make_shared<CurrentCertificate>();
  std::shared_ptr<net::Transport> transport = server.api().InProcess(
      [certificate] { return certificate->certificate_pem(); }, server.pki().client_ca_pem);
  RestOptions options;
  options.user_agent = "kubelet";
  return {Client(std::make_shared<RestClient>(std::move(transport), threads.runtime(), std::move(options))),
          joining, certificate};
}

Client ClientAs(ServerProcess& server, ClientThreads& threads, const std::string& name,
                const std::vector<std::string>& groups, const std::string& agent) {
  RestOptions options;
  options.user_agent = agent;
  std::shared_ptr<net::Transport> transport = server.api().InProcess({name, "", groups, {}});
  return Client(std::make_shared<RestClient>(std::move(transport), threads.runtime(), std::move(options)));
}

// Who may ask for a node's first certificate. There is no token: nobody else can send requests in this
// process.
Client JoiningClient(ServerProcess& server, ClientThreads& threads) {
  return ClientAs(server, threads, "system:bootstrap:flyball", JoiningGroups(), "kubelet");
}

// The name server listens where pods and nodes reach the API server: on an address that only this machine and
// its pods know. A free port, because port 53 may be another's.
Result<ClusterAddons::Options::Dns> DnsFor(const network::ClusterNetwork& cluster) {
  const auto domain = dns::Name::FromText(cluster.dns_domain);
  if (!domain || domain->IsRoot() || domain->wire().size() > dns::kMaxDomainBytes)
    return Unexpected(
        BadRequest("--cluster-domain: \"" + cluster.dns_domain + "\" is no domain for a cluster"));
  ClusterAddons::Options::Dns made;
  made.server = {.addresses = {cluster.api_address}, .port = 0, .zone = {.domain = *domain}};
  for (const std::string& range : cluster.pod_cidrs)
    if (const auto cidr = api::ParseCidr(range)) made.server.allow.push_back(*cidr);
  FLYBALL_ASSIGN(made.server.forward.upstreams, dns::UpstreamsFrom({}, "/etc/resolv.conf"));
  made.service = {.cluster_ip = cluster.dns_address, .endpoint = cluster.api_address};
  return made;
}

// The roles and accounts of those who join and act here, in one commit, and none if all are there.
Status EnsureIdentities(ServerProcess& server) {
  std::vector<json::Value> objects = NodeJoinRoles();
  for (json::Value& role : ControllerRoles()) objects.push_back(std::move(role));
  for (json::Value& role : AddonRoles()) objects.push_back(std::move(role));
  for (const std::string& name : controllers::ControllerAccounts())
    objects.push_back(ControllerAccount(name));
  return server.api().Ensure(objects);
}

}  // namespace

void AddContainerFlags(CLI::App& command, ContainerFlags& flags) {
  command
      .add_option("--container-log-max-size", flags.log_max_size,
                  "Size at which a container's log is rotated, such as 10Mi")
      ->capture_default_str();
  command
      .add_option("--container-log-max-files", flags.log_max_files,
                  "How many files of a container's log are kept, with the current one")
      ->capture_default_str();
  command
      .add_option("--registries", flags.registries,
                  "Mirrors of image registries, and how those are spoken to (k3s' registries.yaml)")
      ->capture_default_str();
  command
      .add_option("--eviction-hard", flags.eviction_hard,
                  "What has to be free, or pods are evicted: memory.available, nodefs.available, "
                  "nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available; empty: nothing")
      ->capture_default_str();
  command
      .add_option(
          "--image-gc-high-threshold", flags.image_gc_high,
          "Percent of the disk in use from which on images that nobody uses, and that were pulled, are "
          "removed; 100: never")
      ->capture_default_str();
  command.add_option("--image-gc-low-threshold", flags.image_gc_low, "Percent in use at which that stops")
      ->capture_default_str();
  command.add_option("--minimum-image-ttl-duration", flags.image_min_age, "Younger images are not removed")
      ->capture_default_str();
  command
      .add_option("--image-maximum-gc-age", flags.image_max_age,
                  "Images that nobody has used for so long are removed; 0s: not for that")
      ->capture_default_str();
  command.add_option("--system-reserved", flags.system_reserved,
                     "What pods cannot have of the machine: cpu=500m,memory=1Gi,ephemeral-storage=1Gi");
  command.add_option("--kube-reserved", flags.kube_reserved, "As --system-reserved; both count");
  command
      .add_option("--enforce-node-allocatable", flags.enforce_allocatable,
                  "pods: the cgroup of all pods may use no more than the machine without what is reserved; "
                  "none: it may")
      ->check(CLI::IsMember({"pods", "none", ""}))
      ->capture_default_str();
  command
      .add_option("--pod-max-pids", flags.pod_max_pids, "Most processes of a pod; -1: as many as it likes")
      ->capture_default_str();
  command.add_option(
      "--root-dir", flags.root_dir,
      "Folder of plugins and of CSI drivers' volumes, /var/lib/kubelet for drivers that expect it; "
      "default: kubelet in the data folder");
  const std::map<std::string, node::HostImage> kHostImage = {
      {"auto", node::HostImage::kAuto}, {"on", node::HostImage::kOn}, {"off", node::HostImage::kOff}};
  command
      .add_option(
          "--host-image", flags.host_image,
          "Whether pods may have the image `host`, a process of this user without isolation. auto: only "
          "where no containers run, which is not as root")
      ->transform(CLI::CheckedTransformer(kHostImage))
      ->default_str("auto");
}

ContainerFlags SharedMachineFlags() {
  ContainerFlags flags;
  flags.eviction_hard = "memory.available<100Mi";
  flags.image_gc_high = 100;
  flags.enforce_allocatable = "none";
  return flags;
}

Result<node::ImageGcPolicy> ImageGcPolicyOf(const ContainerFlags& flags) {
  node::ImageGcPolicy policy{.high_percent = flags.image_gc_high, .low_percent = flags.image_gc_low};
  FLYBALL_ASSIGN(policy.min_age, api::ParseDuration(flags.image_min_age));
  FLYBALL_ASSIGN(policy.max_age, api::ParseDuration(flags.image_max_age));
  FLYBALL_TRY(node::CheckImageGcPolicy(policy));
  return policy;
}

Result<node::ResourceList> EnforcedOf(const ContainerFlags& flags, const node::ResourceList& capacity,
                                      const node::ResourceList& reserved) {
  if (flags.pod_max_pids < -1 || flags.pod_max_pids == 0)
    return Unexpected(BadRequest("--pod-max-pids: a pod has at least one process"));
  if (flags.enforce_allocatable != "pods") return node::ResourceList();
  return node::AllocatableOf(capacity, reserved, {});
}

Result<node::EvictionThresholds> EvictionOf(const ContainerFlags& flags) {
  auto thresholds = node::ParseEvictionThresholds(flags.eviction_hard);
  if (thresholds) return thresholds;
  return Unexpected(BadRequest("--eviction-hard: " + thresholds.error().message()));
}

Result<node::ResourceList> ReservedOf(const ContainerFlags& flags) {
  node::ResourceList reserved;
  for (const auto& [flag, text] : {std::pair("--system-reserved", &flags.system_reserved),
                                   std::pair("--kube-reserved", &flags.kube_reserved)})
    for (const std::string& entry : SplitWords(*text, ",")) {
      const std::size_t equals = std::min(entry.find('='), entry.size());
      const auto amount =
          api::Quantity::Parse(std::string_view(entry).substr(std::min(equals + 1, entry.size())));
      if (!amount || amount->Sign() < 0)
        return Unexpected(BadRequest(std::string(flag) + ": \"" + entry +
                                     "\" is no amount of a resource such as memory=500Mi"));
      auto& sum = reserved[entry.substr(0, equals)];
      sum = sum + *amount;
    }
  return reserved;
}

void AddNetworkFlags(CLI::App& command, NetworkFlags& flags) {
  using Mode = NetworkFlags::Mode;
  const std::map<std::string, Mode> kModes = {{"auto", Mode::kAuto}, {"on", Mode::kOn}, {"off", Mode::kOff}};
  command
      .add_option(
          "--network", flags.mode,
          "Whether each pod has a network and an address of its own, which takes root. off: pods share "
          "the machine's. auto: on where it is possible, which an event on the Node tells")
      ->transform(CLI::CheckedTransformer(kModes))
      ->default_str("auto");
  command
      .add_option("--cluster-cidr", flags.cluster_cidr,
                  "Where pods' addresses come from. If another cluster or network of this machine has the "
                  "default, the next range that is free. With a range of IPv6 after a comma, pods have an "
                  "address of each")
      ->capture_default_str();
  command
      .add_option("--node-cidr-mask-size,--node-cidr-mask-size-ipv4", flags.node_cidr_mask_size,
                  "How much of --cluster-cidr a node gets")
      ->capture_default_str();
  command
      .add_option("--node-cidr-mask-size-ipv6", flags.node_cidr_mask_size_v6,
                  "How much of its range of IPv6 a node gets")
      ->capture_default_str();
  command.add_option("--node-ip", flags.node_ip,
                     "Address of the node, one of this machine's, or one of each IP family; with several "
                     "nodes each has its own");
  command.add_option("--cluster-dns", flags.cluster_dns,
                     "Address of a DNS server that pods ask by default, in place of the one that runs here");
  command.add_option("--cluster-domain", flags.cluster_domain, "Domain of the cluster's names")
      ->capture_default_str();
  command.add_option("--load-balancer-range", flags.load_balancer_range,
                     "Where Services of type LoadBalancer get their addresses from, such as "
                     "192.0.2.16-192.0.2.40; without it they have the node's address");
  command.add_option("--network-mtu", flags.mtu, "Size of the packets of pods; 0: as large as the machine's")
      ->capture_default_str();
}

Result<node::LogLimits> LogLimitsOf(const ContainerFlags& flags) {
  const auto size = api::Quantity::Parse(flags.log_max_size);
  if (!size || size->Value() <= 0)
    return Unexpected(
        BadRequest("--container-log-max-size: \"" + flags.log_max_size + "\" is not a size such as 10Mi"));
  if (flags.log_max_files < 2)
    return Unexpected(BadRequest("--container-log-max-files: invalid MaxFiles " +
                                 std::to_string(flags.log_max_files) + ", must be > 1"));
  return node::LogLimits{size->Value(), flags.log_max_files};
}

void CurrentCertificate::Set(const net::KeyPair& pair) {
  MutexLock lock(mu_);
  base_.certificate_pem = pair.certificate_pem;
  base_.private_key_pem = pair.private_key_pem;
  changed_ = true;
}

std::string CurrentCertificate::certificate_pem() const {
  MutexLock lock(mu_);
  return base_.certificate_pem;
}

Result<std::optional<net::ClientTls>> CurrentCertificate::Changed() {
  MutexLock lock(mu_);
  if (!std::exchange(changed_, false)) return std::optional<net::ClientTls>();
  return std::optional(base_);
}

Result<std::unique_ptr<Nodes>> Nodes::Start(
    const NodesOptions& options, Executor& executor,
    const std::function<Result<NodeConnection>(const std::string& name)>& connect) {
  auto nodes = std::unique_ptr<Nodes>(new Nodes());
  const bool sim = options.runtime == "sim";
  FLYBALL_ASSIGN(const node::LogLimits logs, LogLimitsOf(options.containers));
  FLYBALL_ASSIGN(const node::ImageGcPolicy image_gc, ImageGcPolicyOf(options.containers));
  FLYBALL_ASSIGN(const node::EvictionThresholds eviction, EvictionOf(options.containers));
  FLYBALL_ASSIGN(const node::ResourceList reserved, ReservedOf(options.containers));
  FLYBALL_ASSIGN(const node::ResourceList enforced,
                 EnforcedOf(options.containers, node::MachineCapacity(options.data_dir), reserved));
  if (sim) {
    nodes->runtime_ = node::NewSimRuntime(executor, Random::System());
  } else if (options.runtime == "native") {
    FLYBALL_ASSIGN(nodes->runtime_, node::NewNodeRuntime({.data_dir = options.data_dir + "/node",
                                                          .pod_ip = options.AddressOf(0),
                                                          .log_limits = logs,
                                                          .image_gc = image_gc,
                                                          .registries_file = options.containers.registries,
                                                          .host_image = options.containers.host_image,
                                                          .cgroup_root = CgroupRootOf(options.data_dir),
                                                          .pod_max_pids = options.containers.pod_max_pids,
                                                          .enforced = enforced,
                                                          .keep_on_shutdown = options.keep_containers},
                                                         executor, Random::System()));
  } else {
    return Unexpected(
        BadRequest("unknown runtime \"" + options.runtime + "\": this program knows native and sim"));
  }
  std::shared_ptr<const node::StageSet> stages;
  if (!options.sim_rules.empty()) {
    if (!sim) return Unexpected(BadRequest("--sim-rules: only for --runtime sim"));
    auto loaded = node::StageSet::Load(options.sim_rules);
    if (!loaded) return Unexpected(BadRequest("--sim-rules: " + loaded.error().message()));
    stages = std::make_shared<const node::StageSet>(std::move(*loaded));
  }
  for (const auto& name : options.names) {
    FLYBALL_ASSIGN(NodeConnection connection, connect(name));
    nodes->connections_.push_back(std::move(connection));
  }
  FLYBALL_TRY(nodes->StartServers(options));
  for (std::size_t i = 0; i < options.names.size(); ++i) {
    node::NodeAgentOptions agent{.name = options.names[i], .address = options.AddressOf(i)};
    if (!options.networks.empty()) {
      agent.network = options.networks[i];
      const auto& addresses = agent.network->node().addresses;
      agent.further_addresses.assign(addresses.begin() + 1, addresses.end());
      const network::ClusterNetwork& cluster = agent.network->cluster();
      if (!cluster.dns_address.empty()) agent.dns.servers = {cluster.dns_address};
      agent.dns.domain = cluster.dns_domain;
    }
    if (!sim && options.networks.empty()) agent.shares_network_because = options.no_network_because;
    agent.capacity = sim ? node::SimCapacity() : node::MachineCapacity(options.data_dir);
    if (!sim) {
      agent.data_dir = options.data_dir;
      const std::string& root = options.containers.root_dir;
      agent.root_dir =
          std::filesystem::absolute(root.empty() ? options.data_dir + "/kubelet" : root).string();
      if (i > 0) agent.staging_root = agent.root_dir + "/nodes/" + options.names[i];
      agent.reserved = reserved;
      agent.eviction = eviction;
    }
    agent.stages = stages;
    agent.static_pods = options.pod_manifest_path;
    agent.remove_not_ready_taint = options.remove_not_ready_taint;
    agent.wait_for_serving = options.serving_certificate && options.wait_for_serving && !sim;
    nodes->agents_.push_back(std::make_unique<node::NodeAgent>(
        nodes->connections_[i].client, *nodes->runtime_, std::move(agent), &nodes->ServerOf(i)));
  }
  if (options.serving_certificate)
    for (std::size_t i = 0; i < nodes->servers_.size(); ++i) nodes->Serve(options, i);
  for (std::size_t i = 0; i < options.names.size(); ++i) nodes->Join(options, i);
  return nodes;
}

Status Nodes::StartServers(const NodesOptions& options) {
  for (std::size_t i = 0; i < options.names.size(); ++i) {
    const bool own = !options.networks.empty() && !options.networks[i]->node().machine;
    if (i > 0 && !own) break;
    const auto start = [&] {
      return node::NodeServer::Start({.address = options.AddressOf(i),
                                      .tls = {.client_ca_pem = options.client_ca_pem},
                                      .auth = node::NewDelegatedAuth(connections_[i].client),
                                      .metrics = &connections_[i].client.runtime().metrics});
    };
    FLYBALL_ASSIGN(auto server, own ? options.networks[i]->node().ns->Run(start) : start());
    servers_.push_back(std::move(server));
  }
  return {};
}

// Starts the agent, with the node's certificate if it has to have one.
void Nodes::Join(const NodesOptions& options, std::size_t index) {
  const NodeConnection& connection = connections_[index];
  node::NodeAgent& agent = *agents_[index];
  if (!connection.joining) return agent.Start();
  const auto ask_with = [connection]() -> Client {
    const auto info = net::ParseCertificate(connection.certificate->certificate_pem());
    const bool good = info && connection.client.runtime().clock().Now() < info->not_after;
    return good ? connection.client : *connection.joining;
  };
  const auto use = [certificate = connection.certificate, &agent](const net::KeyPair& pair) {
    certificate->Set(pair);
    agent.Start();
  };
  certificates_.push_back(std::make_shared<node::CertificateManager>(
      node::NodeClientCertificate(options.names[index],
                                  CertificatePath(options, options.names[index], "kubelet-client")),
      ask_with, use));
  certificates_.back()->Start();
}

// The certificate of the server, which the first of the nodes asks for when it has registered: who approves
// it looks at the node's addresses.
void Nodes::Serve(const NodesOptions& options, std::size_t index) {
  const auto use = [this, index](const net::KeyPair& pair) {
    if (const Status set = servers_[index]->SetCertificate(pair); !set)
      return log::Error("serving certificate cannot be used", {{"error", set.error().message()}});
    if (servers_.size() > 1) return agents_[index]->SetServing();
    for (const auto& agent : agents_) agent->SetServing();
  };
  auto manager = std::make_shared<node::CertificateManager>(
      node::NodeServingCertificate(options.names[index], options.AddressOf(index),
                                   CertificatePath(options, options.names[index], "kubelet-server")),
      [client = connections_[index].client] { return client; }, use);
  agents_[index]->OnRegistered([weak = std::weak_ptr<node::CertificateManager>(manager)] {
    if (const auto alive = weak.lock()) alive->Start();
  });
  certificates_.push_back(std::move(manager));
}

Nodes::~Nodes() {
  for (const auto& certificate : certificates_) certificate->Stop();
  for (const auto& agent : agents_) agent->Stop();
  // There is none if Start has failed.
  if (runtime_) runtime_->Shutdown();
}

void StopManager(Manager& manager) {
  const auto done = std::make_shared<Notification<bool>>();
  manager.Stop([done] { done->Set(true); });
  done->Wait();
}

std::vector<std::string> NodeNames(int count, const std::string& first) {
  const std::string base = first.empty() ? LowerCase(server::MachineName()) : first;
  std::vector<std::string> names{base};
  for (int i = 1; i < count; ++i) names.push_back(base + "-" + std::to_string(i + 1));
  return names;
}

void PrepareForLocalCluster(ServerProcessOptions& options) {
  options.api.admission.enable.insert("NodeRestriction");
  options.api.authentication.bootstrap_tokens = true;
  options.nodes.verify = true;
  options.metrics_api = true;
  // Nodes have no roles: this authorizer knows what they may do.
  auto& authorization = options.api.authorization;
  if (authorization.config_file.empty() &&
      std::find(authorization.modes.begin(), authorization.modes.end(), "Node") == authorization.modes.end())
    authorization.modes.insert(authorization.modes.begin(), "Node");
}

Result<std::unique_ptr<LocalCluster>> LocalCluster::Start(ServerProcess& server,
                                                          LocalClusterOptions options) {
  auto cluster = std::unique_ptr<LocalCluster>(new LocalCluster(server));
  FLYBALL_TRY(EnsureIdentities(server));
  if (options.network) FLYBALL_TRY(cluster->StartFilters(*options.network));
  FLYBALL_TRY(cluster->StartNodes(options.nodes));
  FLYBALL_TRY(cluster->StartManagers(options));
  if (options.network && options.network->nodes().size() > 1)
    FLYBALL_TRY(cluster->StartRoutes(*options.network));
  // Its folders are on one machine.
  if (!options.leader_election) FLYBALL_TRY(cluster->StartProvisioner(options.nodes));
  FLYBALL_TRY(cluster->StartAddons(options));
  return cluster;
}

ManagerOptions LocalCluster::ManagerOptionsFor(const LocalClusterOptions& options, const char* name) {
  ManagerOptions made;
  made.name = name;
  made.leader_election = options.leader_election;
  made.election.ns = "kube-system";
  made.drop_managed_fields = true;
  return made;
}

Status LocalCluster::StartManagers(const LocalClusterOptions& wanted) {
  controllers::ControllersOptions options;
  FLYBALL_ASSIGN(options.enabled, EnabledControllers(wanted.controllers));
  if (wanted.network)
    options.node_ipam = {.allocate = true,
                         .cluster_cidrs = wanted.network->cluster().pod_cidrs,
                         .mask_size_v4 = wanted.node_cidr_mask_size,
                         .mask_size_v6 = wanted.node_cidr_mask_size_v6,
                         .service_cidrs = wanted.network->cluster().service_cidrs};
  options.root_ca_pem = server_.pki().server_ca_pem;
  for (const char* signer :
       {"kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown"})
    options.certificate_signing.authorities[signer] = controllers::FixedAuthority(server_.pki().ca);
  // Controllers act as the service accounts upstream gives them, each with the rights of its own bootstrap
  // role.
  options.client_of_account = [this](const std::string& account) {
    return ClientAs(server_, threads_, ControllerUser(account), ControllerGroups(),
                    "kube-controller-manager");
  };
  const auto log = std::make_shared<ReconcileLog>(threads_.runtime().clock());
  ManagerOptions manager = ManagerOptionsFor(wanted, "kube-controller-manager");
  manager.reconciles = log;
  controllers_.emplace(
      ClientAs(server_, threads_, "system:kube-controller-manager", {}, "kube-controller-manager"),
      std::move(manager));
  FLYBALL_TRY(controllers::AddControllers(*controllers_, options));
  scheduler_.emplace(ClientAs(server_, threads_, "system:kube-scheduler", {}, "kube-scheduler"),
                     ManagerOptionsFor(wanted, "kube-scheduler"));
  FLYBALL_TRY(scheduler::AddScheduler(*scheduler_));
  for (Manager* each : {&*controllers_, &*scheduler_})
    if (wanted.leadership_lost) each->OnLeadershipLost(wanted.leadership_lost);
  FLYBALL_TRY(controllers_->Start());
  FLYBALL_TRY(scheduler_->Start());
  auto& components = server_.api().components();
  components.Add("controller-manager", [this] { return controllers_->Healthy(); });
  components.Add("scheduler", [this] { return scheduler_->Healthy(); });
  components.AddPage("metrics", [this] { return threads_.metrics().Serialize(); });
  components.AddPage("reconciles", [log] { return log->ToJson(); });
  return {};
}

Status LocalCluster::StartProvisioner(const NodesOptions& options) {
  if (options.runtime != "native" || node::WhyNoContainers()) return {};
  FLYBALL_TRY(server_.api().Ensure({node::LocalPathClass()}));
  // It may do what makes and removes volumes in a cloud.
  provisioner_.emplace(ClientAs(server_, threads_, ControllerUser("persistent-volume-binder"),
                                ControllerGroups(), "local-path-provisioner"),
                       ManagerOptions{.name = "local-path-provisioner", .drop_managed_fields = true});
  const std::string data = std::filesystem::absolute(options.data_dir).string();
  FLYBALL_TRY(node::AddLocalPathProvisioner(*provisioner_, data + "/node/local-path"));
  return provisioner_->Start();
}

Status LocalCluster::StartNodes(NodesOptions options) {
  node_names_ = options.names;
  options.client_ca_pem = server_.pki().client_ca_pem;
  options.serving_certificate = options.wait_for_serving = true;
  options.remove_not_ready_taint = false;
  const Client joining = JoiningClient(server_, threads_);
  FLYBALL_ASSIGN(nodes_, Nodes::Start(options, threads_.runtime().executor,
                                      [&](const std::string&) -> Result<NodeConnection> {
                                        return ConnectNode(server_, threads_, joining);
                                      }));
  return {};
}

// Of several nodes, which are only reached from this machine, the first one's address serves.
Result<network::BalancerOptions> LocalCluster::BalancerFor(const LocalClusterOptions& options) {
  const auto& nodes = options.network->nodes();
  network::BalancerOptions made{.link = options.network->ranges().name};
  made.pool.ranges = options.load_balancer_ranges;
  if (!made.pool.ranges.empty() && nodes.size() > 1)
    return Unexpected(BadRequest("--load-balancer-range is for a cluster of one node"));
  for (const std::string& text : nodes.front()->node().addresses)
    if (const auto address = api::ParseIp(text)) made.pool.shared.push_back(*address);
  return made;
}

Status LocalCluster::StartAddons(const LocalClusterOptions& options) {
  ClusterAddons::Options addons{.ingress = options.ingress};
  if (options.network) {
    FLYBALL_ASSIGN(addons.balancer, BalancerFor(options));
  }
  if (options.network && options.dns) {
    FLYBALL_ASSIGN(addons.dns, DnsFor(options.network->cluster()));
  }
  if (!addons.dns && !addons.ingress && !addons.balancer) return {};
  FLYBALL_ASSIGN(
      addons_, ClusterAddons::Start(ClientAs(server_, threads_, kAddonsUser, {}, "flyball-addons"), addons));
  return {};
}

Status LocalCluster::StartFilters(const network::MachineNetwork& network) {
  std::vector<network::NodeNetwork> nodes;
  for (const auto& node : network.nodes()) nodes.push_back(node->node());
  FLYBALL_ASSIGN(
      filters_,
      network::NodeFilters::Start(
          ClientAs(server_, threads_, "system:kube-controller-manager", {}, "node-filters"), nodes));
  for (const auto& node : network.nodes())
    node->SetOnAttached([filters = std::weak_ptr(filters_), name = node->node().node](
                            const Pod& pod, const std::vector<std::string>& ips) {
      const auto alive = filters.lock();
      if (alive && !alive->Attach(name, pod, ips))
        log::Warning("a pod starts before its network policies are in effect",
                     {{"pod", pod.metadata.namespace_ + "/" + pod.metadata.name}});
    });
  return {};
}

Status LocalCluster::StartRoutes(const network::MachineNetwork& network) {
  std::vector<network::RoutePlace> places{{"", network.machine()}};
  for (const auto& node : network.nodes()) places.push_back({node->node().node, node->node().ns});
  FLYBALL_ASSIGN(routes_,
                 network::NodeRoutes::Start(ClientAs(server_, threads_, ControllerUser("node-controller"),
                                                     ControllerGroups(), "pod-network"),
                                            places, network.cluster().pod_cidrs));
  return {};
}

void LocalCluster::OnceNodesAreReady(std::function<void()> done) {
  // Only the handler has it, and that is called for one object after the other.
  struct Waiting {
    std::set<std::string> nodes;
    std::function<void()> done;
  };
  const auto waiting = std::make_shared<Waiting>(
      Waiting{std::set<std::string>(node_names_.begin(), node_names_.end()), std::move(done)});
  const auto see = [waiting](const Node& node) {
    if (waiting->nodes.empty() || !IsConditionTrue(node.status.conditions, "Ready")) return;
    waiting->nodes.erase(node.metadata.name);
    if (waiting->nodes.empty()) waiting->done();
  };
  controllers_->informers().For<Node>().AddHandler(
      {.on_add = [see](const auto& node, bool) { see(*node); },
       .on_update = [see](const auto&, const auto& node) { see(*node); }});
}

LocalCluster::~LocalCluster() {
  addons_.reset();
  auto& components = server_.api().components();
  components.RemovePage("reconciles");
  components.RemovePage("metrics");
  components.Remove("scheduler");
  components.Remove("controller-manager");
  if (provisioner_) StopManager(*provisioner_);
  if (scheduler_) StopManager(*scheduler_);
  if (controllers_) StopManager(*controllers_);
  routes_.reset();
  nodes_.reset();
  filters_.reset();
  server_.api().Stop();
  threads_.Stop();
}

}  // namespace flyball::cli
