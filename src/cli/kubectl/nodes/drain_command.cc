#include <memory>
#include <optional>

#include "api/values/duration.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/nodes/drain_pods.h"
#include "cli/kubectl/nodes/node_marks.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct NodeFlags {
  std::vector<std::string> names;
  std::string selector, timeout = "0s";
  DrainFlags drain;
  std::optional<std::int64_t> chunk_size;
};

Status Drain(Session& session, NodeFlags& flags) {
  session.set_chunk_size(flags.chunk_size.value_or(session.chunk_size()));
  FLYBALL_ASSIGN(flags.drain.timeout, api::ParseDuration(flags.timeout));
  FLYBALL_ASSIGN(const auto nodes, ChosenNodes(session, flags.names, flags.selector, "drain"));
  MarkNodes(session, nodes, true, flags.drain.dry_run);
  std::vector<std::string> pending;
  std::string problem;
  for (const json::Value& node : nodes) {
    const std::string name(node["metadata"]["name"].string_or(""));
    const auto drained = [&]() -> Status {
      FLYBALL_ASSIGN(const auto pods, PodsToDrain(session, flags.drain, name));
      if (flags.drain.dry_run != "client") return RemovePods(session, flags.drain, pods);
      for (const json::Value& pod : pods)
        session.out() << "evicting pod " << pod["metadata"]["namespace"].string_or("") << "/"
                      << pod["metadata"]["name"].string_or("") << " (dry run)\n";
      return {};
    }();
    if (drained) {
      session.out() << "node/" << name << " drained" << DryRunNote(flags.drain.dry_run) << "\n";
      continue;
    }
    session.err() << "error: unable to drain node \"" << name
                  << "\" due to error: " << drained.error().message() << ", continuing command...\n";
    problem += (problem.empty() ? "" : ", ") + drained.error().message();
    pending.push_back(name);
  }
  if (pending.empty()) return {};
  session.err() << "There are pending nodes to be drained:\n";
  for (const std::string& name : pending) session.err() << " " << name << "\n";
  return Unexpected(LocalError(problem));
}

void AddMarkCommand(const Command& root, const std::string& verb, bool unschedulable,
                    const std::string& summary) {
  auto flags = std::make_shared<NodeFlags>();
  const Command command = root.Sub(verb, summary, "flyball " + verb + " node-0");
  command.Args("NODE", &flags->names, "Names of nodes");
  command.Option("-l,--selector", &flags->selector, "Nodes with these labels");
  AddDryRunFlag(command, &flags->drain.dry_run);
  RunVerb(command, [flags, verb, unschedulable, command](Session& session) -> Status {
    if (flags->names.empty() && flags->selector.empty() && command.Given("selector"))
      FLYBALL_TRY(ParseResourceArgs(session, {}));
    FLYBALL_ASSIGN(const auto nodes, ChosenNodes(session, flags->names, flags->selector, verb));
    MarkNodes(session, nodes, unschedulable, flags->drain.dry_run);
    return {};
  });
}

void AddDrain(const Command& root) {
  auto flags = std::make_shared<NodeFlags>();
  const Command command = root.Sub("drain", "Move all pods off a node, before maintenance",
                                   "flyball drain node-0 --ignore-daemonsets --force");
  command.Args("NODE", &flags->names, "Names of nodes");
  command.Option("-l,--selector", &flags->selector, "Nodes with these labels");
  command.Option("--pod-selector", &flags->drain.pod_selector, "Only pods with these labels");
  command.Option("--timeout", &flags->timeout, "How long to try: 5m; 0s is for ever");
  command.Option("--grace-period", &flags->drain.grace_seconds,
                 "Seconds pods get to end; negative: as they say");
  command.Option("--skip-wait-for-delete-timeout", &flags->drain.skip_deleted_after_seconds,
                 "Do not wait for pods that have been ending for more than these seconds");
  AddDryRunFlag(command, &flags->drain.dry_run);
  command.Option("--chunk-size", &flags->chunk_size,
                 "How many objects one request lists; 0 reads lists whole");
  command.Flag("--force", &flags->drain.force, "Also pods that no controller will create again");
  command.Flag("--ignore-daemonsets", &flags->drain.ignore_daemon_sets, "Leave the pods of DaemonSets");
  command.Flag("--delete-emptydir-data", &flags->drain.delete_empty_dir_data,
               "Also pods whose emptyDir is lost");
  command.Flag("--disable-eviction", &flags->drain.disable_eviction,
               "Delete pods; disruption budgets do not count");
  RunVerb(command, [flags](Session& session) { return Drain(session, *flags); });
}

}  // namespace

void AddDrainCommands(const Command& root) {
  AddMarkCommand(root, "cordon", true, "Mark nodes so that no new pods are placed on them");
  AddMarkCommand(root, "uncordon", false, "Let new pods be placed on nodes again");
  AddDrain(root);
}

}  // namespace flyball::cli
