#include "cli/programs/up_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "base/files/durable_file.h"
#include "cli/clusters/named_cluster.h"
#include "cli/clusters/user_kubeconfig.h"
#include "cli/programs/cluster.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"
#include "json/yaml/yaml.h"
#include "node/oci/node_runtime.h"

namespace flyball::cli {
namespace {

struct UpFlags {
  std::string name;  // of a cluster that is kept under this name; none: only in the data folder
  bool detach = false;
  std::string data_dir = "flyball-data";
  int port = 6443;
  std::string bind_address = "127.0.0.1";
  std::string runtime = "native";
  std::string controllers = "*";
  std::string service_cluster_ip_range = "10.96.0.0/16";
  int nodes = 1;
  ContainerFlags containers;
};

void PrintHints(const ServerProcess& server, const UpFlags& flags) {
  // The other terminal may be in another folder.
  const std::string kubeconfig = std::filesystem::absolute(server.kubeconfig_path()).string();
  const bool host = flags.runtime == "sim" || node::RunsHostImage(flags.containers.host_image);
  const char* const image = host ? "host" : "busybox";
  std::cout << "Flyball is up.\n\n"
            << "  API server   " << server.url() << "\n"
            << "  kubeconfig   " << kubeconfig << "\n"
            << "  runtime      " << flags.runtime << ", " << flags.nodes
            << (flags.nodes == 1 ? " node" : " nodes") << "\n\n"
            << "Try, in another terminal:\n\n"
            << (flags.name.empty() ? "  export KUBECONFIG=" + kubeconfig
                                   : "  kubectl config use-context flyball-" + flags.name)
            << "\n"
            << "  kubectl get nodes\n"
            << "  kubectl create deployment hello --image=" << image
            << " -- sh -c 'while true; do date; sleep 1; done'\n"
            << "  kubectl get deploy,rs,pods -o wide\n"
            << "  kubectl logs deploy/hello -f\n\n"
            << "Ctrl-C stops it; what was written stays in " << flags.data_dir << ".\n"
            << std::flush;
}

// The cluster's context in the user's kubeconfig.
Status WriteContext(const UpFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, NamedCluster::Named(flags.name));
  FLYBALL_ASSIGN(const std::string text, ReadFile(cluster.kubeconfig()));
  FLYBALL_ASSIGN(const json::Value own, json::ParseYaml(text));
  return ChangeKubeconfig(cluster.ReadSettings().kubeconfig,
                          [&](json::Value& config) { AddContext(config, own, cluster.context()); });
}

// What the flags say, else what the cluster was started with before.
Status ApplySettings(const CLI::App& command, const NamedCluster& cluster, UpFlags& flags) {
  const auto given = [&](const char* flag) { return command.get_option(flag)->count() > 0; };
  ClusterSettings settings = cluster.ReadSettings();
  const auto choose = [&](const char* flag, auto& value, auto& kept) {
    if (given(flag))
      kept = value;
    else
      value = kept;
  };
  const int wanted = given("--port") ? flags.port : settings.port ? settings.port : 6443;
  choose("--bind-address", flags.bind_address, settings.bind_address);
  choose("--runtime", flags.runtime, settings.runtime);
  choose("--nodes", flags.nodes, settings.nodes);
  choose("--controllers", flags.controllers, settings.controllers);
  choose("--service-cluster-ip-range", flags.service_cluster_ip_range, settings.service_cluster_ip_range);
  flags.port = wanted;
  if (!given("--port")) {
    FLYBALL_ASSIGN(flags.port, FreePort(flags.bind_address, wanted));
  }
  settings.port = flags.port;
  if (settings.kubeconfig.empty())
    settings.kubeconfig = std::filesystem::absolute(UserKubeconfigPath()).string();
  flags.data_dir = cluster.folder();
  return cluster.WriteSettings(settings);
}

Status RunCluster(const UpFlags& flags);

Status RunNamedCluster(const CLI::App& command, UpFlags& flags) {
  if (command.get_option("--data-dir")->count() > 0)
    return Unexpected(
        BadRequest("a cluster with a name has a data folder of its own: leave out --data-dir or the name"));
  FLYBALL_ASSIGN(const NamedCluster cluster, NamedCluster::Named(flags.name));
  if (const pid_t pid = cluster.RunningPid())
    return Unexpected(BadRequest("the cluster \"" + flags.name + "\" runs already, as process " +
                                 std::to_string(pid) + "; 'flyball stop " + flags.name + "' ends it"));
  FLYBALL_TRY(ApplySettings(command, cluster, flags));
  if (!flags.detach) {
    FLYBALL_TRY(cluster.MarkRunning());
    return RunCluster(flags);
  }
  FLYBALL_TRY(cluster.StartInBackground());
  std::cout << "cluster \"" << flags.name << "\" is up; its context is " << cluster.context() << "\n"
            << "'flyball status " << flags.name << "' says more, 'flyball stop " << flags.name
            << "' ends it\n";
  return {};
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
  cluster.nodes.containers = flags.containers;
  FLYBALL_ASSIGN(auto components, LocalCluster::Start(*server, std::move(cluster)));
  if (!flags.name.empty()) FLYBALL_TRY(WriteContext(flags));
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
  command->add_option("NAME", flags->name,
                      "Keep the cluster under this name, with a context in your kubeconfig");
  command->add_flag("-d,--detach", flags->detach, "Run it in the background; it needs a name");
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
  AddContainerFlags(*command, flags->containers);
  command->footer("Example:\n  flyball up --data-dir /tmp/demo --runtime sim --nodes 5");
  command->callback([flags, command, &exit_code] {
    Status ran;
    if (!flags->name.empty())
      ran = RunNamedCluster(*command, *flags);
    else if (flags->detach)
      ran = Unexpected(BadRequest("-d needs the name of the cluster: flyball up NAME -d"));
    else
      ran = RunCluster(*flags);
    if (!ran) {
      std::cerr << "flyball up: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
