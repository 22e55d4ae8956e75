#include "cli/programs/component_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "api/values/duration.h"
#include "base/observe/log.h"
#include "cli/command/flag_set.h"
#include "cli/programs/cluster.h"
#include "cli/programs/controller_accounts.h"
#include "cli/programs/node_join.h"
#include "cli/programs/signals.h"
#include "client/config.h"
#include "controller/health_server.h"
#include "controllers/controllers.h"
#include "scheduler/scheduler.h"

namespace flyball::cli {
namespace {

// Of the lease that the copies of a program share, in kube-controller-manager's words.
struct LeaderFlags {
  bool elect = false;
  std::string ns = "kube-system", name, lease_duration = "15s", renew_deadline = "10s", retry_period = "2s";
};

// kube-controller-manager's: one pair of files for all signers, or a pair for each that is to sign.
struct SigningFlags {
  struct Files {
    std::string certificate, key;
    bool given() const { return !certificate.empty() || !key.empty(); }
  };
  Files all;
  std::map<std::string, Files> by_signer{{"kubernetes.io/kube-apiserver-client", {}},
                                         {"kubernetes.io/kube-apiserver-client-kubelet", {}},
                                         {"kubernetes.io/kubelet-serving", {}},
                                         {"kubernetes.io/legacy-unknown", {}}};
  std::string duration = "8760h0m0s";
};

struct ComponentsFlags {
  std::string kubeconfig, controllers = "*", root_ca_file, health_address;
  LeaderFlags leader;
  SigningFlags signing;
  std::string cluster_cidr, service_cidr;
  std::string grace_period = "50s", startup_grace_period = "1m0s";
  controllers::ControllersOptions options;
  bool use_accounts = false;
};

Result<Client> Connect(const ComponentsFlags& flags, const Runtime& runtime, const std::string& agent) {
  FLYBALL_ASSIGN(ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
  config.rest.user_agent = agent;
  FLYBALL_ASSIGN(auto rest, NewRestClient(config, runtime));
  return Client(std::move(rest));
}

// The CA of the cluster, as the kubeconfig has it: what is published to namespaces.
Result<std::string> ClusterCa(const ComponentsFlags& flags) {
  if (!flags.root_ca_file.empty()) {
    std::ifstream file(flags.root_ca_file);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  FLYBALL_ASSIGN(const ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
  return config.http.tls.ca_pem;
}

Result<ManagerOptions> ManagerOptionsOf(const LeaderFlags& leader, const std::string& name) {
  ManagerOptions options;
  options.name = name;
  options.leader_election = leader.elect;
  options.election.ns = leader.ns;
  options.election.name = leader.name;
  options.drop_managed_fields = true;
  FLYBALL_ASSIGN(options.election.lease_duration, api::ParseDuration(leader.lease_duration));
  FLYBALL_ASSIGN(options.election.renew_deadline, api::ParseDuration(leader.renew_deadline));
  FLYBALL_ASSIGN(options.election.retry_period, api::ParseDuration(leader.retry_period));
  if (options.election.lease_duration <= options.election.renew_deadline)
    return Unexpected(BadRequest("leaseDuration must be greater than renewDeadline"));
  if (options.election.renew_deadline <= options.election.retry_period)
    return Unexpected(BadRequest("renewDeadline must be greater than retryPeriod"));
  // A reconcile that hangs is given up, and told of, long before anybody would find it by hand.
  options.reconcile_timeout = std::chrono::minutes(5);
  return options;
}

Result<controllers::CertificateSigningOptions> SigningOptionsOf(const SigningFlags& flags) {
  controllers::CertificateSigningOptions options;
  FLYBALL_ASSIGN(options.duration, api::ParseDuration(flags.duration));
  if (options.duration <= Duration::zero())
    return Unexpected(BadRequest("--cluster-signing-duration must be greater than zero"));
  const bool any = std::any_of(flags.by_signer.begin(), flags.by_signer.end(),
                               [](const auto& entry) { return entry.second.given(); });
  if (any && flags.all.given())
    return Unexpected(BadRequest("cannot specify default and per controller certs at the same time"));
  for (const auto& [signer, own] : flags.by_signer) {
    const SigningFlags::Files& files = any ? own : flags.all;
    if (!files.given()) continue;
    if (files.certificate.empty() || files.key.empty())
      return Unexpected(BadRequest("signer " + signer + " needs both a certificate and a key file"));
    FLYBALL_ASSIGN(options.authorities[signer], controllers::AuthorityFiles(files.certificate, files.key));
  }
  return options;
}

// Until a signal, or until another copy leads: then this one must not go on, and ends.
Status RunManager(Manager& manager, const char* what, const std::string& health_address) {
  std::unique_ptr<HealthServer> health;
  if (!health_address.empty()) {
    FLYBALL_ASSIGN(health, HealthServer::Start(health_address, manager));
    std::cout << "health and metrics on port " << health->port() << std::endl;
  }
  std::atomic<bool> lost = false;
  manager.OnLeadershipLost([&lost] {
    lost = true;
    StopBySignal();
  });
  FLYBALL_TRY(manager.Start());
  std::cout << what << " running" << std::endl;
  WaitForStopSignal();
  StopManager(manager);
  if (lost) return Unexpected(Error(Reason::kTimeout, "leaderelection lost"));
  return {};
}

// Nodes get ranges of addresses: they have to know whose the others are.
void GrantNetworks(const Client& client) {
  if (const Status granted = GrantNodeNetworks(client); !granted)
    log::Warning("nodes may not read what `--network on` needs: bind the ClusterRole of docs/networking.md",
                 {{"error", granted.error().message()}});
}

Status RunControllers(const ComponentsFlags& flags) {
  ClientThreads threads;
  controllers::ControllersOptions options = flags.options;
  FLYBALL_ASSIGN(options.enabled, controllers::ParseControllers(flags.controllers));
  FLYBALL_ASSIGN(options.root_ca_pem, ClusterCa(flags));
  FLYBALL_ASSIGN(options.certificate_signing, SigningOptionsOf(flags.signing));
  FLYBALL_ASSIGN(options.node_lifecycle.node_monitor_grace_period, api::ParseDuration(flags.grace_period));
  FLYBALL_ASSIGN(options.node_lifecycle.node_startup_grace_period,
                 api::ParseDuration(flags.startup_grace_period));
  options.node_ipam.cluster_cidrs = SplitList(flags.cluster_cidr);
  options.node_ipam.service_cidrs = SplitList(flags.service_cidr);
  FLYBALL_TRY(controllers::ValidateNodeIpam(options.node_ipam));
  FLYBALL_ASSIGN(const ManagerOptions manager_options,
                 ManagerOptionsOf(flags.leader, "kube-controller-manager"));
  FLYBALL_ASSIGN(Client client, Connect(flags, threads.runtime(), "kube-controller-manager"));
  if (flags.use_accounts) {
    FLYBALL_ASSIGN(ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
    config.rest.user_agent = "kube-controller-manager";
    FLYBALL_ASSIGN(options.client_of_account, AccountClients(client, std::move(config)));
  }
  if (options.node_ipam.allocate) GrantNetworks(client);
  Manager manager(std::move(client), manager_options);
  FLYBALL_TRY(controllers::AddControllers(manager, options));
  auto ran = RunManager(manager, "controllers", flags.health_address);
  threads.Stop();
  return ran;
}

Status RunScheduler(const ComponentsFlags& flags) {
  ClientThreads threads;
  FLYBALL_ASSIGN(const ManagerOptions options, ManagerOptionsOf(flags.leader, "kube-scheduler"));
  FLYBALL_ASSIGN(Client client, Connect(flags, threads.runtime(), "kube-scheduler"));
  Manager manager(std::move(client), options);
  FLYBALL_TRY(scheduler::AddScheduler(manager));
  auto ran = RunManager(manager, "scheduler", flags.health_address);
  threads.Stop();
  return ran;
}

void OnRun(CLI::App& command, const std::shared_ptr<ComponentsFlags>& flags, int& exit_code,
           Status (*run)(const ComponentsFlags&)) {
  command.callback([&command, flags, &exit_code, run] {
    BlockStopSignals();
    if (auto ran = run(*flags); !ran) {
      std::cerr << "flyball " << command.get_name() << ": " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

void AddManagerFlags(CLI::App& command, ComponentsFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig, "How to reach the API server");
  command.add_option("--health-address", flags.health_address,
                     "Serve /healthz, /readyz and /metrics over plain HTTP at host:port");
  command.add_flag("--leader-elect", flags.leader.elect, "Work only while holding the lease");
  command.add_option("--leader-elect-resource-namespace", flags.leader.ns, "Namespace of the lease")
      ->capture_default_str();
  command.add_option("--leader-elect-resource-name", flags.leader.name, "Name of the lease");
  command
      .add_option("--leader-elect-lease-duration", flags.leader.lease_duration,
                  "How long others wait after the last renewal they saw")
      ->capture_default_str();
  command
      .add_option("--leader-elect-renew-deadline", flags.leader.renew_deadline,
                  "A leader that could not renew for so long ends")
      ->capture_default_str();
  command.add_option("--leader-elect-retry-period", flags.leader.retry_period, "Between attempts")
      ->capture_default_str();
}

void AddSigningFlags(CLI::App& command, SigningFlags& flags) {
  command.add_option("--cluster-signing-cert-file", flags.all.certificate,
                     "CA certificate (PEM) that signs certificate requests of all signers");
  command.add_option("--cluster-signing-key-file", flags.all.key, "Key of --cluster-signing-cert-file");
  const std::pair<const char*, const char*> signers[] = {
      {"kube-apiserver-client", "kubernetes.io/kube-apiserver-client"},
      {"kubelet-client", "kubernetes.io/kube-apiserver-client-kubelet"},
      {"kubelet-serving", "kubernetes.io/kubelet-serving"},
      {"legacy-unknown", "kubernetes.io/legacy-unknown"}};
  for (const auto& [flag, signer] : signers) {
    SigningFlags::Files& files = flags.by_signer[signer];
    const std::string prefix = std::string("--cluster-signing-") + flag;
    command.add_option(prefix + "-cert-file", files.certificate,
                       std::string("CA certificate of ") + signer + "; not with --cluster-signing-cert-file");
    command.add_option(prefix + "-key-file", files.key, "Key of " + prefix + "-cert-file");
  }
  command
      .add_option("--cluster-signing-duration", flags.duration,
                  "The longest a signed certificate lasts; requests may ask for less")
      ->capture_default_str();
}

void AddNodeIpamFlags(CLI::App& command, ComponentsFlags& flags) {
  controllers::NodeIpamOptions& ipam = flags.options.node_ipam;
  command.add_flag("--allocate-node-cidrs", ipam.allocate,
                   "Give each node a part of --cluster-cidr for its pods");
  command.add_option("--cluster-cidr", flags.cluster_cidr,
                     "Where pods' addresses come from: a range, or one of each IP family");
  command
      .add_option("--node-cidr-mask-size,--node-cidr-mask-size-ipv4", ipam.mask_size_v4,
                  "How much of an IPv4 range a node gets")
      ->capture_default_str();
  command
      .add_option("--node-cidr-mask-size-ipv6", ipam.mask_size_v6, "How much of an IPv6 range a node gets")
      ->capture_default_str();
  command.add_option("--service-cluster-ip-range", flags.service_cidr,
                     "Where cluster IPs come from: no node gets a part of it");
}

void AddControllersFlags(CLI::App& command, ComponentsFlags& flags) {
  AddNodeIpamFlags(command, flags);
  controllers::NodeLifecycleOptions& nodes = flags.options.node_lifecycle;
  command.add_option("--controllers", flags.controllers, "* is all; name turns one on, -name one off")
      ->capture_default_str();
  command.add_flag("--use-service-account-credentials", flags.use_accounts,
                   "Each controller acts as its own service account");
  command.add_option("--root-ca-file", flags.root_ca_file,
                     "Published to every namespace; the kubeconfig's CA if absent");
  command
      .add_option("--node-monitor-grace-period", flags.grace_period,
                  "A node that has been silent for so long is unknown")
      ->capture_default_str();
  command.add_option("--node-startup-grace-period", flags.startup_grace_period, "The same, of a new node")
      ->capture_default_str();
  command
      .add_option("--node-eviction-rate", nodes.node_eviction_rate,
                  "Nodes a second whose pods are evicted, in a healthy zone")
      ->capture_default_str();
  command
      .add_option("--secondary-node-eviction-rate", nodes.secondary_node_eviction_rate,
                  "The same in an unhealthy zone")
      ->capture_default_str();
  command
      .add_option("--large-cluster-size-threshold", nodes.large_cluster_size_threshold,
                  "Unhealthy zones up to this size evict nothing")
      ->capture_default_str();
  command
      .add_option("--unhealthy-zone-threshold", nodes.unhealthy_zone_threshold,
                  "Share of silent nodes that makes a zone unhealthy")
      ->capture_default_str();
  command
      .add_option("--terminated-pod-gc-threshold", flags.options.terminated_pod_threshold,
                  "Ended pods kept before the oldest are deleted; 0: all")
      ->capture_default_str();
}

}  // namespace

void AddComponentCommands(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ComponentsFlags>();
  auto* controllers = app.add_subcommand("controllers", "Run the built-in controllers against an API server");
  AddManagerFlags(*controllers, *flags);
  AddControllersFlags(*controllers, *flags);
  AddSigningFlags(*controllers, flags->signing);
  controllers->footer("Example:\n  flyball controllers --kubeconfig D/kubeconfig --controllers=*,-job");
  OnRun(*controllers, flags, exit_code, &RunControllers);

  auto* scheduler = app.add_subcommand("scheduler", "Run the scheduler against an API server");
  AddManagerFlags(*scheduler, *flags);
  scheduler->footer("Example:\n  flyball scheduler --kubeconfig D/kubeconfig");
  OnRun(*scheduler, flags, exit_code, &RunScheduler);
}

}  // namespace flyball::cli
