#include "cli/programs/up_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include "cli/programs/cluster.h"
#include "cli/programs/node_join.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"
#include "controllers/controllers.h"
#include "scheduler/scheduler.h"
#include "server/endpoints/component_status.h"

namespace flyball::cli {
namespace {

struct UpFlags {
  std::string data_dir = "flyball-data";
  int port = 6443;
  std::string bind_address = "127.0.0.1";
  std::string runtime = "native";
  std::string controllers = "*";
  std::string service_cluster_ip_range = "10.96.0.0/16";
  int nodes = 1;
  LogFlags logs;
};

std::vector<std::string> NodeNames(int count) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') std::snprintf(host, sizeof host, "node");
  std::string base(host);
  for (auto& c : base) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<std::string> names{base};
  for (int i = 1; i < count; ++i) names.push_back(base + "-" + std::to_string(i + 1));
  return names;
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

// For joining; the nodes of this process do so in milliseconds.
constexpr Duration kTokenLifetime = std::chrono::minutes(30);

// The right to join, as a client that holds a fresh bootstrap token.
Result<Client> JoiningClient(ServerProcess& server, ClientThreads& threads) {
  const std::string token = NewBootstrapToken();
  std::vector<json::Value> objects = NodeJoinRoles();
  objects.push_back(BootstrapTokenSecret(token, server.executor().clock().Now() + kTokenLifetime));
  FLYBALL_TRY(server.api().Ensure(objects));
  std::shared_ptr<net::Transport> transport =
      server.api().InProcess([] { return std::string(); }, server.pki().client_ca_pem);
  RestOptions options;
  options.user_agent = "kubelet";
  return Client(std::make_shared<RestClient>(std::move(transport), threads.runtime(), std::move(options),
                                             BearerToken(token)));
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

void PrintHints(const ServerProcess& server, const UpFlags& flags) {
  // The other terminal may be in another folder.
  const std::string kubeconfig = std::filesystem::absolute(server.kubeconfig_path()).string();
  std::cout
      << "Flyball is up.\n\n"
      << "  API server   " << server.url() << "\n"
      << "  kubeconfig   " << kubeconfig << "\n"
      << "  runtime      " << flags.runtime << ", " << flags.nodes << (flags.nodes == 1 ? " node" : " nodes")
      << "\n\n"
      << "Try, in another terminal:\n\n"
      << "  export KUBECONFIG=" << kubeconfig << "\n"
      << "  kubectl get nodes\n"
      << "  kubectl create deployment hello --image=host -- sh -c 'while true; do date; sleep 1; done'\n"
      << "  kubectl get deploy,rs,pods -o wide\n"
      << "  kubectl logs deploy/hello -f\n\n"
      << "Ctrl-C stops it; what was written stays in " << flags.data_dir << ".\n"
      << std::flush;
}

Status RunCluster(const UpFlags& flags) {
  BlockStopSignals();
  ServerProcessOptions options;
  options.serving.data_dir = flags.data_dir;
  options.serving.port = flags.port;
  options.serving.bind_address = flags.bind_address;
  options.api.service_cluster_ip_range = flags.service_cluster_ip_range;
  options.store.encrypt_by_default = true;
  options.api.enable_admission.insert("NodeRestriction");
  options.api.authentication.bootstrap_tokens = true;
  options.nodes.verify = true;
  FLYBALL_ASSIGN(auto server, ServerProcess::Start(std::move(options)));

  ClientThreads threads;
  controllers::ControllersOptions controller_options;
  FLYBALL_ASSIGN(controller_options.enabled, EnabledControllers(flags.controllers));
  controller_options.root_ca_pem = server->pki().server_ca_pem;
  for (const char* signer :
       {"kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown"})
    controller_options.certificate_signing.authorities[signer] =
        controllers::FixedAuthority(server->pki().ca);
  Manager controllers(
      ClientAs(*server, threads, "system:kube-controller-manager", {}, "kube-controller-manager"),
      {.name = "kube-controller-manager", .drop_managed_fields = true});
  FLYBALL_TRY(controllers::AddControllers(controllers, controller_options));
  Manager scheduler(ClientAs(*server, threads, "system:kube-scheduler", {}, "kube-scheduler"),
                    {.name = "kube-scheduler", .drop_managed_fields = true});
  FLYBALL_TRY(scheduler::AddScheduler(scheduler));
  NodesOptions nodes_options{
      flags.runtime, flags.data_dir, NodeNames(flags.nodes), "127.0.0.1", server->pki().client_ca_pem,
      flags.logs};
  nodes_options.serving_certificate = nodes_options.wait_for_serving = true;
  nodes_options.remove_not_ready_taint = false;
  FLYBALL_ASSIGN(const Client joining, JoiningClient(*server, threads));
  FLYBALL_ASSIGN(auto nodes, Nodes::Start(nodes_options, threads.runtime().executor,
                                          [&](const std::string&) -> Result<NodeConnection> {
                                            return ConnectNode(*server, threads, joining);
                                          }));
  FLYBALL_TRY(controllers.Start());
  FLYBALL_TRY(scheduler.Start());
  auto& components = server->api().components();
  components.Add("controller-manager", [&controllers] { return controllers.Healthy(); });
  components.Add("scheduler", [&scheduler] { return scheduler.Healthy(); });
  PrintHints(*server, flags);
  WaitForStopSignal();
  std::cout << "stopping\n" << std::flush;
  components.Remove("scheduler");
  components.Remove("controller-manager");
  StopManager(scheduler);
  StopManager(controllers);
  nodes.reset();
  server->api().Stop();
  threads.Stop();
  return {};
}

}  // namespace

void AddUpCommand(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "up", "Run a whole cluster in this process: API server, controllers, scheduler, nodes");
  auto flags = std::make_shared<UpFlags>();
  command
      ->add_option("--data-dir", flags->data_dir, "Where the store, certificates, kubeconfig and pods live")
      ->capture_default_str();
  command->add_option("--port", flags->port, "Port of the API server; 0 takes any free one")
      ->capture_default_str();
  command->add_option("--bind-address", flags->bind_address, "Address to listen on")->capture_default_str();
  command->add_option("--runtime", flags->runtime, "native: a real process a container; sim: nothing runs")
      ->capture_default_str()
      ->check(CLI::IsMember({"native", "sim"}));
  command->add_option("--nodes", flags->nodes, "How many nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--controllers", flags->controllers, "As kube-controller-manager: *,-job turns one off")
      ->capture_default_str();
  command
      ->add_option("--service-cluster-ip-range", flags->service_cluster_ip_range,
                   "Where cluster IPs come from")
      ->capture_default_str();
  AddLogFlags(*command, flags->logs);
  command->footer("Example:\n  flyball up --data-dir /tmp/demo --runtime sim --nodes 5");
  command->callback([flags, &exit_code] {
    if (auto ran = RunCluster(*flags); !ran) {
      std::cerr << "flyball up: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
