#include "cli/component_commands.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/cluster.h"
#include "cli/signals.h"
#include "client/config.h"
#include "controllers/controllers.h"
#include "scheduler/scheduler.h"

namespace flyball::cli {
namespace {

struct ComponentsFlags {
  std::string kubeconfig, controllers = "*", root_ca_file;
  bool leader_elect = false;
  std::string node_name, runtime = "native", data_dir, address = "127.0.0.1";
};

Result<Client> Connect(const ComponentsFlags& flags, const Runtime& runtime, const std::string& agent) {
  FLYBALL_ASSIGN(ClientConfig config, LoadConfig({.path = flags.kubeconfig}));
  config.rest.user_agent = agent;
  FLYBALL_ASSIGN(auto rest, NewRestClient(config, runtime));
  return Client(std::move(rest));
}

// The CA of the cluster, as the kubeconfig has it: what is published to namespaces, and whose clients a node
// trusts.
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

Status RunManager(Manager& manager, const char* what) {
  FLYBALL_TRY(manager.Start());
  std::cout << what << " running" << std::endl;
  WaitForStopSignal();
  StopManager(manager);
  return {};
}

Status RunControllers(const ComponentsFlags& flags) {
  ClientThreads threads;
  controllers::ControllersOptions options;
  FLYBALL_ASSIGN(options.enabled, controllers::ParseControllers(flags.controllers));
  FLYBALL_ASSIGN(options.root_ca_pem, ClusterCa(flags));
  FLYBALL_ASSIGN(Client client, Connect(flags, threads.runtime(), "kube-controller-manager"));
  Manager manager(std::move(client),
                  {.name = "kube-controller-manager", .leader_election = flags.leader_elect});
  FLYBALL_TRY(controllers::AddControllers(manager, options));
  auto ran = RunManager(manager, "controllers");
  threads.Stop();
  return ran;
}

Status RunScheduler(const ComponentsFlags& flags) {
  ClientThreads threads;
  FLYBALL_ASSIGN(Client client, Connect(flags, threads.runtime(), "kube-scheduler"));
  Manager manager(std::move(client), {.name = "kube-scheduler", .leader_election = flags.leader_elect});
  FLYBALL_TRY(scheduler::AddScheduler(manager));
  auto ran = RunManager(manager, "scheduler");
  threads.Stop();
  return ran;
}

Status RunNode(const ComponentsFlags& flags) {
  ClientThreads threads;
  FLYBALL_ASSIGN(const std::string ca, ClusterCa(flags));
  NodesOptions options{flags.runtime, flags.data_dir, {flags.node_name}, flags.address, ca};
  FLYBALL_ASSIGN(auto nodes, Nodes::Start(options, threads.runtime().executor, [&](const std::string&) {
                   return Connect(flags, threads.runtime(), "kubelet");
                 }));
  std::cout << "node " << flags.node_name << " running" << std::endl;
  WaitForStopSignal();
  nodes.reset();
  threads.Stop();
  return {};
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

}  // namespace

void AddComponentCommands(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ComponentsFlags>();
  auto* controllers = app.add_subcommand("controllers", "Run the built-in controllers against an API server");
  controllers->add_option("--kubeconfig", flags->kubeconfig, "How to reach the API server");
  controllers->add_option("--controllers", flags->controllers, "* is all; name turns one on, -name one off")
      ->capture_default_str();
  controllers->add_option("--root-ca-file", flags->root_ca_file,
                          "Published to every namespace; the kubeconfig's CA if absent");
  controllers->add_flag("--leader-elect", flags->leader_elect,
                        "Work only while holding the lease kube-controller-manager");
  OnRun(*controllers, flags, exit_code, &RunControllers);

  auto* scheduler = app.add_subcommand("scheduler", "Run the scheduler against an API server");
  scheduler->add_option("--kubeconfig", flags->kubeconfig, "How to reach the API server");
  scheduler->add_flag("--leader-elect", flags->leader_elect,
                      "Work only while holding the lease kube-scheduler");
  OnRun(*scheduler, flags, exit_code, &RunScheduler);

  auto* node = app.add_subcommand("node", "Run this machine as a node of a cluster");
  node->add_option("--kubeconfig", flags->kubeconfig, "How to reach the API server");
  node->add_option("--name", flags->node_name, "The node's name")->required();
  node->add_option("--runtime", flags->runtime, "native: a real process a container; sim: nothing runs")
      ->capture_default_str();
  node->add_option("--data-dir", flags->data_dir, "Where logs and state of containers live")->required();
  node->add_option("--address", flags->address, "Where the API server reaches this node")
      ->capture_default_str();
  OnRun(*node, flags, exit_code, &RunNode);
}

}  // namespace flyball::cli
