#include "cli/node/node_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/values/ascii.h"
#include "cli/node/node_network.h"
#include "cli/programs/cluster.h"
#include "cli/programs/signals.h"
#include "client/config.h"

namespace flyball::cli {
namespace {

struct NodeFlags {
  std::string kubeconfig, bootstrap_kubeconfig;
  std::string pod_manifest_path, manifest_url;
  std::string name, runtime = "native", sim_rules, data_dir, address = "127.0.0.1";
  ContainerFlags containers;
  JoinedNetworkFlags network;
  bool rotate_server_certificates = false;
};

Result<ClientConfig> ConfigOf(const NodeFlags& flags) {
  const bool joins = !flags.bootstrap_kubeconfig.empty();
  FLYBALL_ASSIGN(ClientConfig config,
                 LoadConfig({.path = joins ? flags.bootstrap_kubeconfig : flags.kubeconfig}));
  config.rest.user_agent = "kubelet";
  return config;
}

// A node that joins with the bootstrap kubeconfig's token and has its own certificate from then on; or one
// with the credentials of a kubeconfig.
Result<NodeConnection> ConnectNode(const NodeFlags& flags, const Runtime& runtime) {
  FLYBALL_ASSIGN(const ClientConfig config, ConfigOf(flags));
  FLYBALL_ASSIGN(auto rest, NewRestClient(config, runtime));
  if (flags.bootstrap_kubeconfig.empty()) return NodeConnection{Client(std::move(rest))};
  ClientConfig own = config;
  own.credentials = nullptr;
  own.http.tls.certificate_pem.clear();
  own.http.tls.private_key_pem.clear();
  auto certificate = std::make_shared<CurrentCertificate>(own.http.tls);
  own.tls_source = certificate;
  FLYBALL_ASSIGN(auto with_certificate, NewRestClient(own, runtime));
  return NodeConnection{Client(std::move(with_certificate)), Client(std::move(rest)), std::move(certificate)};
}

Status RunNode(const NodeFlags& flags) {
  if (!flags.manifest_url.empty())
    return Unexpected(
        BadRequest("--manifest-url is not supported: write the manifests into a folder and name it by "
                   "--pod-manifest-path"));
  ClientThreads threads;
  FLYBALL_ASSIGN(const ClientConfig config, ConfigOf(flags));
  FLYBALL_ASSIGN(const NodeConnection connection, ConnectNode(flags, threads.runtime()));
  const std::vector<std::string> addresses = SplitWords(flags.address, ",");
  const bool networks = flags.network.mode != JoinedNetworkFlags::Mode::kOff;
  if (addresses.empty() || (addresses.size() > 1 && !networks))
    return Unexpected(BadRequest("--address: want one, or with --network=on one of each IP family"));
  NodesOptions options{.runtime = flags.runtime,
                       .pod_manifest_path = flags.pod_manifest_path,
                       .sim_rules = flags.sim_rules,
                       .data_dir = flags.data_dir,
                       .names = {flags.name},
                       .address = addresses.front(),
                       .client_ca_pem = config.http.tls.ca_pem,
                       .containers = flags.containers};
  options.keep_containers = true;
  options.serving_certificate = flags.rotate_server_certificates;
  options.no_network_because = "--network=off";
  std::unique_ptr<JoinedNetwork> network;
  if (networks) {
    FLYBALL_ASSIGN(network, JoinedNetwork::Open(flags.network, flags.name, addresses, flags.data_dir));
    FLYBALL_TRY(network->Follow(connection.client));
    options.networks = {network->pods()};
  }
  FLYBALL_ASSIGN(auto nodes, Nodes::Start(options, threads.runtime().executor,
                                          [&](const std::string&) { return connection; }));
  std::cout << "node " << flags.name << " running" << std::endl;
  WaitForStopSignal();
  nodes.reset();
  network.reset();
  threads.Stop();
  return {};
}

}  // namespace

void AddNodeCommand(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<NodeFlags>();
  auto* command = app.add_subcommand("node", "Run this machine as a node of a cluster");
  command->add_option("--kubeconfig", flags->kubeconfig, "How to reach the API server");
  command->add_option("--name", flags->name, "The node's name")->required();
  command->add_option("--runtime", flags->runtime, "native: a real process a container; sim: nothing runs")
      ->capture_default_str()
      ->check(CLI::IsMember({"native", "sim"}));
  command->add_option(
      "--pod-manifest-path", flags->pod_manifest_path,
      "File or folder of manifests of static pods, which run whatever the API server says; files whose "
      "names begin with a dot are ignored");
  command->add_option("--manifest-url", flags->manifest_url, "Not supported: use --pod-manifest-path")
      ->group("");
  command->add_option("--sim-rules", flags->sim_rules, kSimRulesHelp);
  command->add_option("--data-dir", flags->data_dir, "Where logs and state of containers live")->required();
  command
      ->add_option(
          "--address", flags->address,
          "Where the API server and other nodes reach this node: an address, or one of each IP family")
      ->capture_default_str();
  command->add_option(
      "--bootstrap-kubeconfig", flags->bootstrap_kubeconfig,
      "Join with this (a bootstrap token, usually): the node asks for a certificate of its own, "
      "keeps it below --data-dir and renews it; used in place of --kubeconfig");
  command->add_flag(
      "--rotate-server-certificates", flags->rotate_server_certificates,
      "Ask the cluster for the certificate the node's server has, and renew it; somebody has to "
      "approve the requests");
  AddContainerFlags(*command, flags->containers);
  AddJoinedNetworkFlags(*command, flags->network);
  command->footer("Example:\n  flyball node --kubeconfig D/kubeconfig --name n1 --data-dir N");
  command->callback([flags, &exit_code] {
    BlockStopSignals();
    if (const Status ran = RunNode(*flags); !ran) {
      std::cerr << "flyball node: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
