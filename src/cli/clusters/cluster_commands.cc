#include "cli/clusters/cluster_commands.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/files/durable_file.h"
#include "base/run/thread.h"
#include "cli/clusters/named_cluster.h"
#include "cli/clusters/user_kubeconfig.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/session.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct ClusterFlags {
  std::vector<std::string> args;
  bool follow = false;
};

std::string AddressOf(const NamedCluster& cluster) {
  auto text = ReadFile(cluster.kubeconfig());
  const auto config = text ? json::ParseYaml(*text) : Result<json::Value>(json::Value());
  if (!config) return "";
  const json::Array& clusters = Elements((*config)["clusters"]);
  return clusters.empty() ? "" : std::string(clusters[0]["cluster"]["server"].string_or(""));
}

Status ListClusters(const ClusterFlags&) {
  const auto all = NamedCluster::All();
  if (all.empty()) std::cerr << "No clusters. 'flyball up NAME -d' makes one.\n";
  std::size_t width = 4;
  for (const NamedCluster& cluster : all) width = std::max(width, cluster.name().size());
  const auto line = [&](const std::string& name, const std::string& state, const std::string& server) {
    std::cout << name << std::string(width - name.size() + 3, ' ') << state
              << std::string(10 - state.size(), ' ') << server << "\n";
  };
  if (!all.empty()) line("NAME", "STATE", "SERVER");
  for (const NamedCluster& cluster : all)
    line(cluster.name(), cluster.RunningPid() ? "Running" : "Stopped", AddressOf(cluster));
  return {};
}

// The one that is named, or the only one there is.
Result<NamedCluster> OneCluster(const ClusterFlags& flags) {
  if (flags.args.size() == 1) return NamedCluster::Existing(flags.args[0]);
  const auto all = NamedCluster::All();
  if (flags.args.empty() && all.size() == 1) return all[0];
  return Unexpected(LocalError("which cluster? 'flyball list' names them"));
}

// What the cluster itself says; nothing if it does not answer.
void PrintAnswers(const NamedCluster& cluster) {
  Invocation invocation;
  invocation.connection.kubeconfig = cluster.kubeconfig();
  invocation.connection.request_timeout = "5s";
  auto session = Session::Open(invocation);
  if (!session) return;
  RestRequest request = RawRequest("/readyz");
  request.max_retries = 0;
  std::cout << "ready        " << ((*session)->CallText(std::move(request)) ? "yes" : "no") << "\n";
  for (const char* kind : {"nodes", "pods"}) {
    const auto list = (*session)->Call(RawRequest(std::string("/api/v1/") + kind));
    if (list)
      std::cout << kind << std::string(13 - std::string(kind).size(), ' ') << (*list)["items"].size() << "\n";
  }
}

Status PrintStatus(const ClusterFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, OneCluster(flags));
  const pid_t pid = cluster.RunningPid();
  const ClusterSettings settings = cluster.ReadSettings();
  std::cout << "name         " << cluster.name() << "\n"
            << "state        " << (pid ? "Running, process " + std::to_string(pid) : "Stopped") << "\n"
            << "server       " << AddressOf(cluster) << "\n"
            << "context      " << cluster.context()
            << (settings.kubeconfig.empty() ? "" : " in " + settings.kubeconfig) << "\n"
            << "runtime      " << settings.Flag("--runtime", "native") << "\n"
            << "folder       " << cluster.folder() << "\n";
  if (pid) PrintAnswers(cluster);
  return {};
}

Status StopCluster(const ClusterFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, OneCluster(flags));
  FLYBALL_ASSIGN(const bool ran, cluster.Stop());
  std::cout << "cluster \"" << cluster.name() << "\" " << (ran ? "stopped" : "was not running") << "\n";
  return {};
}

Status StartCluster(const ClusterFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, OneCluster(flags));
  FLYBALL_TRY(cluster.StartInBackground());
  std::cout << "cluster \"" << cluster.name() << "\" started: " << AddressOf(cluster) << "\n";
  return {};
}

Status UseCluster(const ClusterFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, OneCluster(flags));
  bool there = false;
  FLYBALL_TRY(ChangeKubeconfig(UserKubeconfigPath(), [&](json::Value& config) {
    there = UseContextNamed(config, cluster.context());
  }));
  if (!there)
    return Unexpected(LocalError("there is no context " + cluster.context() + " in " + UserKubeconfigPath() +
                                 "; 'flyball start " + cluster.name() + "' writes it"));
  std::cout << "Switched to context \"" << cluster.context() << "\".\n";
  return {};
}

Status DeleteCluster(const ClusterFlags& flags) {
  if (flags.args.size() != 1) return Unexpected(LocalError("which cluster? 'flyball list' names them"));
  FLYBALL_ASSIGN(const NamedCluster cluster, NamedCluster::Existing(flags.args[0]));
  FLYBALL_TRY(cluster.Stop());
  const ClusterSettings settings = cluster.ReadSettings();
  std::error_code ec;
  if (!settings.kubeconfig.empty() && std::filesystem::exists(settings.kubeconfig, ec))
    FLYBALL_TRY(ChangeKubeconfig(settings.kubeconfig,
                                 [&](json::Value& config) { RemoveContext(config, cluster.context()); }));
  std::filesystem::remove_all(cluster.folder(), ec);
  if (ec) return Unexpected(LocalError("cannot remove " + cluster.folder() + ": " + ec.message()));
  std::cout << "cluster \"" << cluster.name() << "\" deleted\n";
  return {};
}

Status PrintClusterLog(const ClusterFlags& flags) {
  FLYBALL_ASSIGN(const NamedCluster cluster, OneCluster(flags));
  std::ifstream in(cluster.log(), std::ios::binary);
  if (!in)
    return Unexpected(LocalError(
        "cluster \"" + cluster.name() +
        "\" has no log: it was only run in the foreground, where its output went to the terminal"));
  do {
    std::string text(4096, '\0');
    while (in.read(text.data(), static_cast<std::streamsize>(text.size())), in.gcount() > 0)
      std::cout.write(text.data(), in.gcount());
    std::cout.flush();
    in.clear();
    if (flags.follow) SleepFor(std::chrono::milliseconds(200));
  } while (flags.follow);
  return {};
}

using ClusterVerb = Status (*)(const ClusterFlags&);

Command AddVerb(const Command& parent, const char* name, const char* summary, ClusterVerb verb,
                std::shared_ptr<ClusterFlags> flags = std::make_shared<ClusterFlags>()) {
  const Command command = parent.Sub(name, summary, std::string("flyball ") + name + " dev");
  command.Args("[NAME]", &flags->args, "Which cluster");
  command.RunLocal([flags, verb] {
    const Status done = verb(*flags);
    if (!done) std::cerr << ErrorText(done.error()) << "\n";
    return done ? 0 : 1;
  });
  return command;
}

void AddShared(const Command& parent) {
  AddVerb(parent, "list", "List the clusters", &ListClusters);
  AddVerb(parent, "status", "Say how a cluster is", &PrintStatus);
  AddVerb(parent, "stop", "Stop a cluster; its data stays", &StopCluster);
  AddVerb(parent, "start", "Start a cluster again, in the background", &StartCluster);
  AddVerb(parent, "use", "Make a cluster's context the current one", &UseCluster);
}

}  // namespace

void AddClusterCommands(const Command& root) {
  AddShared(root);
  const Command cluster = root.Sub("cluster", "Look after clusters by name", "flyball cluster delete dev");
  cluster.RequireSub();
  AddShared(cluster);
  auto flags = std::make_shared<ClusterFlags>();
  AddVerb(cluster, "logs", "Print what a cluster in the background wrote", &PrintClusterLog, flags)
      .Flag("-f,--follow", &flags->follow, "Go on as it writes more");
  AddVerb(cluster, "delete", "Stop a cluster and delete its data and its context", &DeleteCluster);
}

std::vector<std::string> WithClusterWords(std::vector<std::string> arguments) {
  if (arguments.size() < 2 || (arguments[0] != "logs" && arguments[0] != "delete")) return arguments;
  const bool follows = arguments.size() == 3 && arguments[0] == "logs" && arguments[2] == "-f";
  if (arguments.size() > 2 && !follows) return arguments;
  const auto cluster = NamedCluster::Named(arguments[1]);
  if (cluster && cluster->exists()) arguments.insert(arguments.begin(), "cluster");
  return arguments;
}

}  // namespace flyball::cli
