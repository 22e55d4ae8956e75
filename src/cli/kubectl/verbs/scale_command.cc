#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct ScaleFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::string dry_run;
  std::optional<std::int64_t> replicas, current_replicas;
};

Status ScaleOne(Session& session, const ScaleFlags& flags, const ObjectRef& object) {
  if (flags.current_replicas) {
    RestRequest request;
    request.path = object.kind.Path(object.ns, object.name, "scale");
    FLYBALL_ASSIGN(const json::Value scale, session.Call(std::move(request)));
    const std::int64_t now = scale["spec"]["replicas"].int_or(0);
    if (now != *flags.current_replicas)
      return Unexpected(LocalError("Expected replicas to be " + std::to_string(*flags.current_replicas) +
                                   ", was " + std::to_string(now)));
  }
  json::Value patch;
  patch["spec"]["replicas"] = static_cast<long long>(*flags.replicas);
  if (flags.dry_run != "client") {
    RestRequest request;
    request.verb = "PATCH";
    request.path = object.kind.Path(object.ns, object.name, "scale");
    request.content_type = kMergePatch;
    request.body = json::Write(patch);
    if (flags.dry_run == "server") request.Query("dryRun", "All");
    FLYBALL_TRY(session.Call(std::move(request)));
  }
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) {
    FLYBALL_ASSIGN(const json::Value after, session.Get(object.kind, object.ns, object.name));
    return PrintTo(session.out(), *printer, after);
  }
  session.out() << DisplayName(object.kind, object.name) << " scaled" << DryRunNote(flags.dry_run) << "\n";
  return {};
}

Status RunScale(Session& session, const ScaleFlags& flags) {
  if (!flags.replicas || *flags.replicas < 0)
    return Unexpected(
        LocalError("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0"));
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, flags.args, flags.selection));
  for (const ObjectRef& object : objects)
    if (Status s = ScaleOne(session, flags, object); !s) session.Report(s.error());
  return {};
}

}  // namespace

void AddScaleCommand(const Command& root) {
  auto flags = std::make_shared<ScaleFlags>();
  const Command command =
      root.Sub("scale", "Set the number of replicas", "flyball scale deploy web --replicas=3");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  command.Option("--replicas", &flags->replicas, "How many there should be");
  command.Required("--replicas");
  command.Option("--current-replicas", &flags->current_replicas, "Only if there are this many now");
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Flag("--all", &flags->selection.all, "All of the kind in the namespace");
  RunVerb(command, [flags](Session& session) { return RunScale(session, *flags); });
}

}  // namespace flyball::cli
