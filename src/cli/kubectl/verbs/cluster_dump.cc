#include "cli/kubectl/verbs/cluster_dump.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

struct DumpFlags {
  PrintFlags print{.output = "json"};
  std::string folder, pod_timeout = "20s";
  std::vector<std::string> namespaces;
  bool all_namespaces = false;
};

struct Dumped {
  const char* file;
  KindRef kind;
};
const Dumped kDumped[] = {
    {"events", {"", "v1", "Event", "events", true}},
    {"replication-controllers", {"", "v1", "ReplicationController", "replicationcontrollers", true}},
    {"services", {"", "v1", "Service", "services", true}},
    {"daemonsets", {"apps", "v1", "DaemonSet", "daemonsets", true}},
    {"deployments", {"apps", "v1", "Deployment", "deployments", true}},
    {"replicasets", {"apps", "v1", "ReplicaSet", "replicasets", true}},
};
const KindRef kDumpedPods{"", "v1", "Pod", "pods", true};
const KindRef kDumpedNodes{"", "v1", "Node", "nodes", false};
const KindRef kDumpedNamespaces{"", "v1", "Namespace", "namespaces", false};

// Writes to standard output, or to files below a folder.
class Dump {
 public:
  Dump(Session& session, const DumpFlags& flags) : session_(session), flags_(flags) {}

  Status Run() {
    FLYBALL_TRY(List(kDumpedNodes, "", "nodes"));
    FLYBALL_ASSIGN(const auto namespaces, Namespaces());
    for (const std::string& ns : namespaces) {
      for (const Dumped& dumped : kDumped) FLYBALL_TRY(List(dumped.kind, ns, ns + "/" + dumped.file));
      FLYBALL_TRY(Pods(ns));
    }
    if (!to_console()) session_.out() << "Cluster info dumped to " << flags_.folder << "\n";
    return {};
  }

 private:
  bool to_console() const { return flags_.folder.empty() || flags_.folder == "-"; }
  std::string Extension() const { return flags_.print.output == "yaml" ? ".yaml" : ".json"; }

  Result<std::vector<std::string>> Namespaces() {
    if (!flags_.all_namespaces && !flags_.namespaces.empty()) return flags_.namespaces;
    if (!flags_.all_namespaces) return std::vector<std::string>{"kube-system", session_.ns()};
    FLYBALL_ASSIGN(const json::Value list, Fetch(kDumpedNamespaces, ""));
    std::vector<std::string> names;
    for (const json::Value& item : Elements(list["items"]))
      names.emplace_back(item["metadata"]["name"].string_or(""));
    return names;
  }

  Result<json::Value> Fetch(const KindRef& kind, const std::string& ns) {
    RestRequest request;
    request.path = kind.Path(ns);
    return session_.Call(std::move(request));
  }

  Status List(const KindRef& kind, const std::string& ns, const std::string& name) {
    FLYBALL_ASSIGN(const json::Value list, Fetch(kind, ns));
    return Print(list, name);
  }

  Status Pods(const std::string& ns) {
    FLYBALL_ASSIGN(const json::Value pods, Fetch(kDumpedPods, ns));
    FLYBALL_TRY(Print(pods, ns + "/pods"));
    for (const json::Value& pod : Elements(pods["items"])) FLYBALL_TRY(Logs(ns, pod));
    return {};
  }

  Status Print(const json::Value& object, const std::string& name) {
    FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags_.print));
    FLYBALL_ASSIGN(const std::string text, printer->Print(object));
    return Write(name + Extension(), text);
  }

  Status Logs(const std::string& ns, const json::Value& pod) {
    const std::string name(pod["metadata"]["name"].string_or(""));
    std::string text;
    for (const char* list : {"initContainers", "containers"})
      for (const json::Value& container : Elements(pod["spec"][list])) {
        const std::string of =
            "container " + std::string(container["name"].string_or("")) + " of pod " + ns + "/" + name;
        RestRequest request;
        request.path = kDumpedPods.Path(ns, name, "log");
        request.accept = "*/*";
        request.Query("container", std::string(container["name"].string_or("")));
        const auto log = session_.CallText(std::move(request));
        text += "==== START logs for " + of + " ====\n";
        text += log ? *log : "Request log error: " + log.error().message() + "\n";
        text += "==== END logs for " + of + " ====\n";
      }
    return Write(ns + "/" + name + "/logs.txt", text);
  }

  Status Write(const std::string& name, const std::string& text) {
    if (to_console()) {
      session_.out() << text;
      return {};
    }
    const fs::path path = fs::path(flags_.folder) / name;
    std::error_code ec;
    fs::create_directories(path.parent_path(), ec);
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) return Unexpected(LocalError("cannot write " + path.string()));
    return {};
  }

  Session& session_;
  const DumpFlags& flags_;
};

}  // namespace

void AddClusterDumpCommand(const Command& info) {
  auto flags = std::make_shared<DumpFlags>();
  const Command command = info.Sub("dump", "Print what helps to find a fault: objects, events and logs",
                                   "flyball cluster-info dump --output-directory=/tmp/state");
  AddPrintFlags(command, &flags->print);
  command.Option("--pod-running-timeout", &flags->pod_timeout,
                 "Accepted; the pods whose logs are printed are known, and none is waited for");
  command.Option("--output-directory", &flags->folder,
                 "Write files below this folder instead; - is standard output");
  command.List("--namespaces", &flags->namespaces, "Which; kube-system and the current one if absent");
  command.Flag("-A,--all-namespaces", &flags->all_namespaces, "Every namespace");
  RunVerb(command, [flags](Session& session) {
    if (flags->print.output.empty()) flags->print.output = "json";
    return Dump(session, *flags).Run();
  });
}

}  // namespace flyball::cli
