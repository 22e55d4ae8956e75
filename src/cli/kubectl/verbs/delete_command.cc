#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct DeleteFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  std::string cascade = "background", dry_run, output, timeout = "0s", raw;
  std::optional<std::int64_t> grace_period;
  bool interactive = false, now = false, force = false, wait = true, ignore_not_found = false;
};

json::Value DeleteOptions(const DeleteFlags& flags, const std::string& policy) {
  json::Value options;
  options["propagationPolicy"] = policy;
  if (flags.now)
    options["gracePeriodSeconds"] = 1;
  else if (flags.grace_period && *flags.grace_period >= 0)
    options["gracePeriodSeconds"] = static_cast<long long>(*flags.grace_period);
  else if (flags.force)
    options["gracePeriodSeconds"] = 0;
  if (flags.dry_run == "server") options["dryRun"] = json::Array{"All"};
  return options;
}

// The uid of the deleted object: in the object, or in the Status' details.
std::string DeletedUid(const json::Value& answer) {
  const std::string_view uid = answer["metadata"]["uid"].string_or("");
  return std::string(uid.empty() ? answer["details"]["uid"].string_or("") : uid);
}

Status DeleteRaw(Session& session, const std::string& path) {
  RestRequest request = RawRequest(path);
  request.verb = "DELETE";
  FLYBALL_ASSIGN(const std::string answer, session.CallText(std::move(request)));
  session.out() << answer;
  return {};
}

Status CheckDelete(const DeleteFlags& flags) {
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  if (!flags.output.empty() && flags.output != "name")
    return Unexpected(
        LocalError("unexpected -o output mode: " + flags.output + ". We only support '-o name'"));
  if (flags.selection.all && !flags.selection.label_selector.empty())
    return Unexpected(LocalError("setting 'all' parameter but found a non empty selector."));
  return {};
}

// Names what is about to go, and asks.
bool IsConfirmed(Session& session, const std::vector<ObjectRef>& objects) {
  session.out() << "You are about to delete the following " << objects.size() << " resource(s):\n";
  for (const ObjectRef& object : objects) session.out() << DisplayName(object.kind, object.name) << "\n";
  session.out() << "Do you want to continue? (y/N): " << std::flush;
  std::string line;
  std::getline(std::cin, line);
  if (LowerCase(line) == "y") return true;
  session.out() << "deletion is cancelled\n";
  return false;
}

void WarnOfClusterScope(Session& session, const std::vector<ObjectRef>& objects) {
  const bool any = std::any_of(objects.begin(), objects.end(),
                               [](const ObjectRef& object) { return !object.kind.namespaced; });
  if (session.ns_given() && any)
    session.err() << "Warning: deleting cluster-scoped resources, not scoped to the provided namespace\n";
}

Status RunDelete(Session& session, const DeleteFlags& flags) {
  if (!flags.raw.empty()) return DeleteRaw(session, flags.raw);
  FLYBALL_TRY(CheckDelete(flags));
  FLYBALL_ASSIGN(const std::string policy, PropagationPolicy(flags.cascade));
  FLYBALL_ASSIGN(const Duration timeout, api::ParseDuration(flags.timeout));
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, flags.args, flags.selection));
  const std::string options = json::Write(DeleteOptions(flags, policy));
  const bool dry = flags.dry_run == "client" || flags.dry_run == "server";
  if (flags.force)
    session.err()
        << "Warning: Immediate deletion does not wait for confirmation that the running resource has been "
           "terminated. The resource may continue to run on the cluster indefinitely.\n";
  if (objects.empty() && flags.files.empty()) session.out() << "No resources found\n";
  if (flags.interactive && !objects.empty() && !IsConfirmed(session, objects)) return {};
  WarnOfClusterScope(session, objects);
  std::vector<std::pair<ObjectRef, std::string>> deleted;
  for (const ObjectRef& object : objects) {
    RestRequest request;
    request.verb = "DELETE";
    request.path = object.kind.Path(object.ns, object.name);
    request.body = options;
    auto answer = flags.dry_run == "client" ? session.Get(object.kind, object.ns, object.name)
                                            : session.Call(std::move(request));
    if (!answer) {
      if (!flags.ignore_not_found || !answer.error().Is(Reason::kNotFound))
        session.Report(flags.files.empty() ? answer.error()
                                           : answer.error().Annotate("error when deleting \"" +
                                                                     flags.files.first_source() + "\""));
      continue;
    }
    if (flags.output == "name")
      session.out() << DisplayName(object.kind, object.name) << "\n" << std::flush;
    else
      session.out() << TypeName(object.kind) << " \"" << object.name << "\" "
                    << (flags.force ? "force deleted" : "deleted") << DryRunNote(flags.dry_run) << "\n"
                    << std::flush;
    deleted.emplace_back(object, DeletedUid(*answer));
  }
  if (!flags.wait || dry) return {};
  for (const auto& [object, uid] : deleted) FLYBALL_TRY(WaitUntilGone(session, object, uid, timeout));
  return {};
}

}  // namespace

void AddDeleteCommand(const Command& root) {
  auto flags = std::make_shared<DeleteFlags>();
  const Command command =
      root.Sub("delete", "Delete objects and wait until they are gone", "flyball delete deploy web");
  command.SuggestedFor({"rm", "remove"});
  command.Args("TYPE[/NAME]", &flags->args, "Kinds and names");
  AddManifestFlags(command, &flags->files);
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  command.Option("--field-selector", &flags->selection.field_selector, "Those with these field values");
  command.Option("--cascade", &flags->cascade,
                 "What happens to what they own: background, foreground or orphan", "background");
  command.Option("--grace-period", &flags->grace_period, "Seconds a pod gets to end by itself");
  command.Option("--timeout", &flags->timeout, "How long to wait; 0s: as long as it takes");
  AddDryRunFlag(command, &flags->dry_run);
  command.Option("--raw", &flags->raw, "Delete this path of the server, as it is");
  command.Option("-o,--output", &flags->output, "name");
  command.Flag("--all", &flags->selection.all, "All of the kind in the namespace");
  command.Flag("-A,--all-namespaces", &flags->selection.all_namespaces, "In every namespace");
  command.Flag("-i,--interactive", &flags->interactive, "Show what would be deleted and ask first");
  command.Flag("--now", &flags->now, "The same as --grace-period=1");
  command.Flag("--force", &flags->force, "Do not wait for the node to confirm");
  command.Flag("--wait", &flags->wait, "Wait until they are gone (default)");
  command.Flag("--ignore-not-found", &flags->ignore_not_found, "It is no error if an object is not there");
  RunVerb(command, [flags](Session& session) { return RunDelete(session, *flags); });
}

}  // namespace flyball::cli
