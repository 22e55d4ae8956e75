#include "cli/programs/up_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "cli/programs/cluster.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"

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
  PrepareForLocalCluster(options);
  FLYBALL_ASSIGN(auto server, ServerProcess::Start(std::move(options)));
  LocalClusterOptions cluster{.controllers = flags.controllers};
  cluster.nodes = {.runtime = flags.runtime, .data_dir = flags.data_dir, .names = NodeNames(flags.nodes)};
  cluster.nodes.logs = flags.logs;
  FLYBALL_ASSIGN(auto components, LocalCluster::Start(*server, std::move(cluster)));
  PrintHints(*server, flags);
  WaitForStopSignal();
  std::cout << "stopping\n" << std::flush;
  components.reset();
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
