#include "cli/up/up_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <iostream>

#include "api/values/ip_address.h"
#include "base/files/durable_file.h"
#include "base/files/temporary_folder.h"
#include "base/observe/log.h"
#include "cli/addons/ingress_flags.h"
#include "cli/clusters/named_cluster.h"
#include "cli/clusters/user_kubeconfig.h"
#include "cli/programs/cluster.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"
#include "cli/up/status_line.h"
#include "cli/up/up_etcd.h"
#include "client/subprocess.h"
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
  std::string sim_rules;
  std::string controllers = "*";
  std::string service_cluster_ip_range = "10.96.0.0/16";
  int nodes = 1;
  bool ephemeral = false;
  std::string config;               // read before flags are parsed (cluster_config.h)
  std::vector<std::string> images;  // loaded before it starts
  std::vector<std::string> apply;   // applied when it runs
  ContainerFlags containers = SharedMachineFlags();
  bool ingress = false;
  IngressFlags ingress_flags;
  NetworkFlags network;
  UpEtcdFlags etcd;
  std::string node_name;  // of the first node; empty: the machine's
};

// Runs another command of this program; its output goes where ours goes.
Status RunOwn(const std::vector<std::string>& words, const std::string& doing, const std::string& failure) {
  ProgressTicker ticker([&] { return doing; });
  FLYBALL_ASSIGN(const ProcessOutput done, RunProcess("/proc/self/exe", words, {}));
  ticker.Print([&] { std::cout << done.out << std::flush; });
  if (done.exit_code != 0) return Unexpected(BadRequest(failure));
  return {};
}

Status LoadImages(const UpFlags& flags) {
  for (const std::string& image : flags.images)
    FLYBALL_TRY(RunOwn({"image", "load", image, "--data-dir", flags.data_dir}, "loading " + image,
                       "--load-image " + image + " failed"));
  return {};
}

Status ApplyFiles(const UpFlags& flags, const std::string& kubeconfig) {
  for (const std::string& file : flags.apply)
    FLYBALL_TRY(RunOwn({"apply", "-f", file, "--kubeconfig", kubeconfig}, "applying " + file,
                       "--apply " + file + " failed"));
  return {};
}

// The network of the cluster's pods, from when the data folder is ours until nothing of it runs any more.
class ClusterNetworkOwner {
 public:
  ~ClusterNetworkOwner() {
    if (network_) network_->RemoveAll();
  }
  network::MachineNetwork* get() const { return network_.get(); }
  // If there is none.
  const std::string& why_not() const { return why_not_; }

  // Null afterwards if pods share the machine's network.
  Status Start(const UpFlags& flags) {
    using Mode = NetworkFlags::Mode;
    why_not_ = "--network=off";
    if (flags.network.mode == Mode::kOff || flags.runtime != "native") return {};
    auto started = TryStart(flags);
    if (started) {
      network_ = std::move(*started);
      return {};
    }
    if (flags.network.mode == Mode::kOn)
      return Unexpected(BadRequest("--network=on: " + started.error().message()));
    why_not_ = started.error().message();
    log::Info("pods share this machine's network", {{"why", why_not_}});
    return {};
  }

 private:
  static Result<std::unique_ptr<network::MachineNetwork>> TryStart(const UpFlags& flags) {
    if (const auto why = network::WhyNoPodNetwork())
      return Unexpected(
          Error(Reason::kServiceUnavailable, "pods cannot have networks of their own here: " + *why));
    return network::MachineNetwork::Start({.data_dir = flags.data_dir,
                                           .nodes = NodeNames(flags.nodes, flags.node_name),
                                           .pod_cidr = flags.network.cluster_cidr,
                                           .service_cidr = flags.service_cluster_ip_range,
                                           .node_ip = flags.network.node_ip,
                                           .mtu = static_cast<std::uint32_t>(flags.network.mtu),
                                           .dns = flags.network.cluster_dns.empty(),
                                           .dns_address = flags.network.cluster_dns,
                                           .dns_domain = flags.network.cluster_domain});
  }

  std::unique_ptr<network::MachineNetwork> network_;
  std::string why_not_;
};

// The server is reached from pods too: at an address that only this machine and its pods know.
void UseNetwork(const network::MachineNetwork& network, ServerProcessOptions& options) {
  options.api.service_cluster_ip_range = network.ranges().service_cidr;
  if (const std::string& v6 = network.ranges().service_cidr_v6; !v6.empty())
    options.api.service_cluster_ip_range += "," + v6;
  const auto bound = api::ParseIp(options.serving.bind_address);
  if (bound && bound->IsLoopback()) {
    options.serving.further_addresses.push_back(network.cluster().api_address);
    // Where documents about the server say that it is: pods must get there.
    if (options.serving.external_hostname.empty())
      options.serving.external_hostname = network.cluster().api_address;
  }
}

Result<std::vector<network::AddressRange>> RangesOf(const NetworkFlags& flags) {
  auto ranges = network::ParseAddressRanges(flags.load_balancer_range);
  if (ranges) return ranges;
  return Unexpected(BadRequest("--load-balancer-range: " + ranges.error().message()));
}

// "http://127.0.0.1 and https://127.0.0.1:8443".
std::string IngressUrls(const network::ClusterIngress& ingress, const network::IngressOptions& options) {
  const bool v6 = options.address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + options.address + "]" : options.address;
  const auto port = [](int number, int usual) {
    return number == usual ? std::string() : ":" + std::to_string(number);
  };
  return "http://" + host + port(ingress.http_port(), 80) + " and https://" + host +
         port(ingress.https_port(), 443);
}

Status PrintHints(const ServerProcess& server, const LocalCluster& cluster, const UpFlags& flags) {
  // The other terminal may be in another folder.
  const std::string kubeconfig = std::filesystem::absolute(server.kubeconfig_path()).string();
  const bool host = flags.runtime == "sim" || node::RunsHostImage(flags.containers.host_image);
  const char* const image = host ? "host" : "busybox";
  std::cout << kReadyText << "\n\n"
            << "  API server   " << server.url() << "\n"
            << "  kubeconfig   " << kubeconfig << "\n"
            << "  runtime      " << flags.runtime << ", " << flags.nodes
            << (flags.nodes == 1 ? " node" : " nodes") << "\n";
  if (const auto* addons = cluster.addons(); addons && addons->ingress())
    std::cout << "  ingress      "
              << IngressUrls(*addons->ingress(), IngressOptionsOf(flags.ingress_flags, flags.bind_address))
              << "\n";
  std::cout << "\nTry, in another terminal:\n\n"
            << (flags.name.empty() ? "  export KUBECONFIG=" + kubeconfig
                                   : "  kubectl config use-context flyball-" + flags.name)
            << "\n"
            << "  kubectl get nodes\n"
            << "  kubectl create deployment hello --image=" << image
            << " -- sh -c 'while true; do date; sleep 1; done'\n"
            << "  kubectl get deploy,rs,pods -o wide\n"
            << "  kubectl logs deploy/hello -f\n\n"
            << (flags.ephemeral ? std::string("Ctrl-C stops it; nothing is kept.\n")
                                : "Ctrl-C stops it; what was written stays in " + flags.data_dir + ".\n");
  if (flags.etcd.given()) {
    FLYBALL_ASSIGN(const std::string join, JoinHint(flags.etcd, flags.data_dir));
    std::cout << "\nOn another machine, to add a server:\n\n  " << join << "\n";
  }
  std::cout << std::flush;
  return {};
}

// The cluster's context in the user's kubeconfig.
Status WriteContext(const UpFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, NamedCluster::Named(flags.name));
  FLYBALL_ASSIGN(const std::string text, ReadFile(cluster.kubeconfig()));
  FLYBALL_ASSIGN(const json::Value own, json::ParseYaml(text));
  return ChangeKubeconfig(cluster.ReadSettings().kubeconfig,
                          [&](json::Value& config) { AddContext(config, own, cluster.context()); });
}

// What the next start does not use again, or has in settings of its own.
bool IsForThisRun(const std::string& flag) {
  constexpr std::array kOnce = {"NAME",     "--help",      "--detach",     "--data-dir", "--port",
                                "--config", "--ephemeral", "--load-image", "--apply"};
  return std::find(kOnce.begin(), kOnce.end(), flag) != kOnce.end();
}

// A later start may be from another folder.
std::string FromAnywhere(const std::string& flag, const std::string& value) {
  return flag == "--registries" ? std::filesystem::absolute(value).string() : value;
}

void Remember(const CLI::App& command, GivenFlags& flags) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || IsForThisRun(name)) continue;
    std::vector<std::string>& values = flags[name];
    values.clear();
    for (const std::string& value : option->results()) values.push_back(FromAnywhere(name, value));
  }
}

void AddUpFlags(CLI::App& command, UpFlags& flags);

// What the flags say, else what the cluster was started with before.
Status ApplySettings(const CLI::App& command, const NamedCluster& cluster, UpFlags& flags) {
  ClusterSettings settings = cluster.ReadSettings();
  Remember(command, settings.flags);
  UpFlags all;
  CLI::App parser;
  AddUpFlags(parser, all);
  try {
    std::vector<std::string> words = settings.Words();
    parser.parse(words);
  } catch (const CLI::ParseError& error) {
    return Unexpected(BadRequest(cluster.folder() + "/cluster.json: " + error.what()));
  }
  all.name = flags.name;
  all.detach = flags.detach;
  all.images = flags.images;
  all.apply = flags.apply;
  all.data_dir = cluster.folder();
  all.port = flags.port;
  if (command.get_option("--port")->count() == 0) {
    FLYBALL_ASSIGN(all.port, FreePort(all.bind_address, settings.port ? settings.port : all.port));
  }
  settings.port = all.port;
  if (settings.kubeconfig.empty())
    settings.kubeconfig = std::filesystem::absolute(UserKubeconfigPath()).string();
  flags = std::move(all);
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
    FLYBALL_TRY(LoadImages(flags));
    return RunCluster(flags);
  }
  FLYBALL_TRY(LoadImages(flags));
  FLYBALL_TRY(cluster.StartInBackground());
  FLYBALL_TRY(ApplyFiles(flags, cluster.kubeconfig()));
  std::cout << "cluster \"" << flags.name << "\" is up; its context is " << cluster.context() << "\n"
            << "'flyball status " << flags.name << "' says more, 'flyball stop " << flags.name
            << "' ends it\n";
  return {};
}

// Says how the cluster is until the program is to stop.
void WaitForTheEnd(LocalCluster& components) {
  const auto line = std::make_shared<StatusLine>(components.informers());
  components.OnceNodesAreReady([weak = std::weak_ptr(line)] {
    const auto print = [] { std::cout << kNodesReadyText << "\n" << std::flush; };
    if (const auto shown = weak.lock()) shown->Print(print);
  });
  WaitForStopSignal();
}

Status RunCluster(const UpFlags& flags) {
  BlockStopSignals();
  ServerProcessOptions options;
  options.serving.data_dir = flags.data_dir;
  options.serving.port = flags.port;
  options.serving.bind_address = flags.bind_address;
  options.api.service_cluster_ip_range = flags.service_cluster_ip_range;
  options.store.encrypt_by_default = true;
  options.store.in_memory = flags.ephemeral;
  PrepareForLocalCluster(options);
  FLYBALL_TRY(PrepareUpOnEtcd(flags.etcd, options));
  const std::string node_address = NodeAddressOnEtcd(options.serving);
  ClusterNetworkOwner network;
  options.folder_is_ours = [&](ServerProcessOptions& ours) -> Status {
    FLYBALL_TRY(network.Start(flags));
    if (network.get()) UseNetwork(*network.get(), ours);
    return {};
  };
  FLYBALL_ASSIGN(auto server, ServerProcess::Start(std::move(options)));
  LocalClusterOptions cluster{.controllers = flags.controllers};
  cluster.nodes = {
      .runtime = flags.runtime, .data_dir = flags.data_dir, .names = NodeNames(flags.nodes, flags.node_name)};
  cluster.nodes.sim_rules = flags.sim_rules;
  cluster.nodes.containers = flags.containers;
  if (flags.ingress) cluster.ingress = IngressOptionsOf(flags.ingress_flags, flags.bind_address);
  std::atomic<bool> lost = false;
  if (flags.etcd.given()) {
    cluster.nodes.address = node_address;
    cluster.leader_election = true;
    cluster.leadership_lost = [&lost] {
      lost = true;
      StopBySignal();
    };
  }
  cluster.network = network.get();
  cluster.dns = flags.network.cluster_dns.empty();
  FLYBALL_ASSIGN(cluster.load_balancer_ranges, RangesOf(flags.network));
  cluster.node_cidr_mask_size = flags.network.node_cidr_mask_size;
  cluster.node_cidr_mask_size_v6 = flags.network.node_cidr_mask_size_v6;
  if (network.get())
    cluster.nodes.networks.assign(network.get()->nodes().begin(), network.get()->nodes().end());
  cluster.nodes.no_network_because = network.why_not();
  FLYBALL_ASSIGN(auto components, LocalCluster::Start(*server, std::move(cluster)));
  if (!flags.name.empty()) FLYBALL_TRY(WriteContext(flags));
  FLYBALL_TRY(ApplyFiles(flags, server->kubeconfig_path()));
  FLYBALL_TRY(PrintHints(*server, *components, flags));
  WaitForTheEnd(*components);
  std::cout << "stopping\n" << std::flush;
  components.reset();
  if (lost) return Unexpected(Error(Reason::kTimeout, "leaderelection lost"));
  return {};
}

// Without a name; in a folder that goes with it, if it is ephemeral.
Status RunNamelessCluster(const CLI::App& command, UpFlags& flags) {
  if (!flags.ephemeral) {
    FLYBALL_TRY(LoadImages(flags));
    return RunCluster(flags);
  }
  if (command.get_option("--data-dir")->count() > 0)
    return Unexpected(BadRequest("an ephemeral cluster keeps nothing: leave out --data-dir or --ephemeral"));
  FLYBALL_ASSIGN(const TemporaryFolder folder, TemporaryFolder::Make());
  flags.data_dir = folder.path().string();
  FLYBALL_TRY(LoadImages(flags));
  return RunCluster(flags);
}

// Refuses what a cluster of several machines cannot have, and turns it off where that is left to us.
Status PrepareForEtcd(UpFlags& flags) {
  const auto refuse = [](const char* what) {
    return Unexpected(BadRequest(std::string("--etcd-servers: ") + what));
  };
  if (!flags.name.empty()) return refuse("a cluster on several machines has no name here: leave it out");
  if (flags.ephemeral) return refuse("what is in etcd is kept: leave out --ephemeral");
  if (flags.network.mode == NetworkFlags::Mode::kOn)
    return refuse("networks of pods end at their machine: leave out --network");
  flags.network.mode = NetworkFlags::Mode::kOff;
  return {};
}

Status RunUp(const CLI::App& command, UpFlags& flags) {
  if (!flags.name.empty() && flags.ephemeral)
    return Unexpected(BadRequest("a cluster with a name is kept: leave out the name or --ephemeral"));
  if (flags.etcd.given()) FLYBALL_TRY(PrepareForEtcd(flags));
  if (!flags.name.empty()) return RunNamedCluster(command, flags);
  if (flags.detach) return Unexpected(BadRequest("-d needs the name of the cluster: flyball up NAME -d"));
  return RunNamelessCluster(command, flags);
}

void AddUpFlags(CLI::App& command, UpFlags& flags) {
  command.add_option("NAME", flags.name,
                     "Keep the cluster under this name, with a context in your kubeconfig");
  command.add_flag("-d,--detach", flags.detach, "Run it in the background; it needs a name");
  command.add_option("--data-dir", flags.data_dir, "Where the store, certificates, kubeconfig and pods live")
      ->capture_default_str();
  command.add_option("--port", flags.port, "Port of the API server; 0 takes any free one")
      ->capture_default_str();
  command.add_option("--bind-address", flags.bind_address, "Address to listen on")->capture_default_str();
  command.add_option("--runtime", flags.runtime, "native: a real process a container; sim: nothing runs")
      ->capture_default_str()
      ->check(CLI::IsMember({"native", "sim"}));
  command.add_option("--sim-rules", flags.sim_rules, kSimRulesHelp);
  command.add_option("--nodes", flags.nodes, "How many nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--node-name", flags.node_name, "Name of the node; the machine's if absent");
  command.add_option("--controllers", flags.controllers, "As kube-controller-manager: *,-job turns one off")
      ->capture_default_str();
  command
      .add_option("--service-cluster-ip-range", flags.service_cluster_ip_range,
                  "Where cluster IPs come from: a range, or one of IPv4 and one of IPv6")
      ->capture_default_str();
  command.add_option("--config", flags.config, "YAML file with flags of this command: nodes: 3");
  command.add_flag("--ephemeral", flags.ephemeral,
                   "Keep nothing: the store in memory, all else in a temporary folder");
  command.add_option("--load-image", flags.images, "Image archive to load before it starts; may be repeated");
  command.add_option("--apply", flags.apply, "Manifests to apply when it runs; may be repeated");
  AddContainerFlags(command, flags.containers);
  command.add_flag("--ingress", flags.ingress, "Serve Ingress objects by HTTP and HTTPS (docs/ingress.md)");
  AddIngressFlags(command, flags.ingress_flags);
  AddNetworkFlags(command, flags.network);
  AddUpEtcdFlags(command, flags.etcd);
}

}  // namespace

void AddUpCommand(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "up", "Run a whole cluster in this process: API server, controllers, scheduler, nodes");
  auto flags = std::make_shared<UpFlags>();
  AddUpFlags(*command, *flags);
  command->footer("Example:\n  flyball up --data-dir /tmp/demo --runtime sim --nodes 5");
  command->callback([flags, command, &exit_code] {
    const Status ran = RunUp(*command, *flags);
    if (!ran) {
      std::cerr << "flyball up: " << ran.error().message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace flyball::cli
