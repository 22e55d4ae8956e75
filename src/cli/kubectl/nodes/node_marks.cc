#include "cli/kubectl/nodes/node_marks.h"

#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/resource_args.h"
#include "json/json.h"

namespace flyball::cli {

const KindRef kNodes{"", "v1", "Node", "nodes", false};

namespace {

Status PatchMark(Session& session, const std::string& name, bool unschedulable, const std::string& dry_run) {
  json::Value patch;
  // Absent means schedulable, so that is what uncordon leaves behind.
  patch["spec"]["unschedulable"] = unschedulable ? json::Value(true) : json::Value(nullptr);
  RestRequest request;
  request.verb = "PATCH";
  request.path = kNodes.Path("", name);
  request.content_type = kStrategicPatch;
  request.body = json::Write(patch);
  request.Query("fieldManager", "kubectl-drain");
  if (dry_run == "server") request.Query("dryRun", "All");
  FLYBALL_TRY(session.Call(std::move(request)));
  return {};
}

}  // namespace

Result<std::vector<json::Value>> ChosenNodes(Session& session, const std::vector<std::string>& names,
                                             const std::string& selector, const std::string& verb) {
  if (names.empty() && selector.empty())
    return Unexpected(
        LocalError("USAGE: " + verb + " NODE [flags]\nSee 'kubectl " + verb + " -h' for help and examples"));
  if (!names.empty() && !selector.empty())
    return Unexpected(
        LocalError("error: cannot specify both a node name and a --selector option\nSee 'kubectl " + verb +
                   " -h' for help and examples"));
  if (!selector.empty()) return ListObjects(session, kNodes, "", selector);
  std::vector<json::Value> nodes;
  for (const std::string& name : names) {
    const std::size_t slash = name.find('/');
    FLYBALL_ASSIGN(json::Value node,
                   session.Get(kNodes, "", slash == std::string::npos ? name : name.substr(slash + 1)));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void MarkNodes(Session& session, const std::vector<json::Value>& nodes, bool unschedulable,
               const std::string& dry_run) {
  const std::string past = unschedulable ? "cordoned" : "uncordoned";
  for (const json::Value& node : nodes) {
    const std::string name(node["metadata"]["name"].string_or(""));
    std::string done = past;
    if (node["spec"]["unschedulable"].bool_or(false) == unschedulable) {
      done = "already " + past;
    } else if (dry_run != "client") {
      if (const Status patched = PatchMark(session, name, unschedulable, dry_run); !patched) {
        session.Report(LocalError("unable to " + std::string(unschedulable ? "cordon" : "uncordon") +
                                  " node \"" + name + "\": " + patched.error().message()));
        continue;
      }
    }
    session.out() << "node/" << name << " " << done << DryRunNote(dry_run) << "\n";
  }
}

}  // namespace flyball::cli
