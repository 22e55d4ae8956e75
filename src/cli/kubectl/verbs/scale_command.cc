#include <algorithm>
#include <memory>

#include "api/values/duration.h"
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
  std::string dry_run, resource_version;
  int replicas = -1, current_replicas = -1;
  std::string timeout = "0s";
};

// One object to scale, as it was read.
struct Target {
  ObjectRef ref;
  json::Value object;
};

Result<json::Value> ReadScale(Session& session, const ObjectRef& ref) {
  RestRequest request;
  request.path = ref.kind.Path(ref.ns, ref.name, "scale");
  return session.Call(std::move(request));
}

Status CheckPrecondition(const ScaleFlags& flags, const json::Value& scale) {
  const std::int64_t now = scale["spec"]["replicas"].int_or(0);
  if (flags.current_replicas != -1 && now != flags.current_replicas)
    return Unexpected(LocalError("Expected replicas to be " + std::to_string(flags.current_replicas) +
                                 ", was " + std::to_string(now)));
  const std::string version(scale["metadata"]["resourceVersion"].string_or(""));
  if (flags.resource_version.empty() || flags.resource_version == version) return {};
  return Unexpected(
      LocalError("Expected resource version to be " + flags.resource_version + ", was " + version));
}

Status SendScale(Session& session, const ScaleFlags& flags, const ObjectRef& ref) {
  if (flags.current_replicas != -1 || !flags.resource_version.empty()) {
    FLYBALL_ASSIGN(const json::Value scale, ReadScale(session, ref));
    FLYBALL_TRY(CheckPrecondition(flags, scale));
  }
  json::Value patch;
  patch["spec"]["replicas"] = flags.replicas;
  RestRequest request;
  request.verb = "PATCH";
  request.path = ref.kind.Path(ref.ns, ref.name, "scale");
  request.content_type = kMergePatch;
  request.body = json::Write(patch);
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  FLYBALL_TRY(session.Call(std::move(request)));
  return {};
}

// --timeout: until there are as many replicas as there should be.
Status WaitForReplicas(Session& session, const ScaleFlags& flags, const ObjectRef& ref, Duration timeout) {
  constexpr Duration kInterval = std::chrono::seconds(1);  // kubectl's
  const SteadyTime end = session.clock().Steady() + timeout;
  for (;;) {
    FLYBALL_ASSIGN(const json::Value scale, ReadScale(session, ref));
    if (scale["spec"]["replicas"].int_or(0) == flags.replicas &&
        scale["status"]["replicas"].int_or(0) == flags.replicas)
      return {};
    if (session.clock().Steady() >= end)
      return Unexpected(LocalError("timed out waiting for \"" + ref.name + "\" to be synced"));
    session.Pause(std::min<Duration>(kInterval, end - session.clock().Steady()));
  }
}

Status SayScaled(Session& session, const ScaleFlags& flags, const Target& target) {
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (!printer) {
    session.out() << DisplayName(target.ref.kind, target.ref.name) << " scaled" << DryRunNote(flags.dry_run)
                  << "\n";
    return {};
  }
  json::Value scaled = target.object;
  scaled["spec"]["replicas"] = flags.replicas;
  return PrintTo(session.out(), *printer, scaled);
}

Status ScaleOne(Session& session, const ScaleFlags& flags, const Target& target, Duration timeout) {
  if (flags.dry_run == "client") return SayScaled(session, flags, target);
  FLYBALL_TRY(SendScale(session, flags, target.ref));
  const bool dry = flags.dry_run == "server";
  if (timeout > Duration::zero() && !dry) FLYBALL_TRY(WaitForReplicas(session, flags, target.ref, timeout));
  if (session.records() && !dry) {
    json::Value cause;
    session.Record(cause);
    FLYBALL_TRY(
        session.Patch(target.ref.kind, target.ref.ns, target.ref.name, kMergePatch, cause, "kubectl-scale"));
  }
  return SayScaled(session, flags, target);
}

Status RunScale(Session& session, const ScaleFlags& flags) {
  if (flags.replicas < 0)
    return Unexpected(
        LocalError("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0"));
  if (flags.current_replicas < -1)
    return Unexpected(LocalError("The --current-replicas must specify an integer of -1 or greater"));
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  FLYBALL_ASSIGN(const Duration timeout, api::ParseDuration(flags.timeout));
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, flags.args, flags.selection));
  if (!flags.resource_version.empty() && objects.size() > 1)
    return Unexpected(LocalError("cannot use --resource-version with multiple resources"));
  // What cannot be read is reported at the end.
  std::vector<Target> targets;
  for (const ObjectRef& ref : objects) {
    auto object = session.Get(ref.kind, ref.ns, ref.name);
    if (object)
      targets.push_back({ref, std::move(*object)});
    else
      session.Report(object.error());
  }
  if (targets.empty() && !session.failed()) return Unexpected(LocalError("no objects passed to scale"));
  for (const Target& target : targets) FLYBALL_TRY(ScaleOne(session, flags, target, timeout));
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
  command.Option("--resource-version", &flags->resource_version, "Only if the object has this version");
  command.Option("--timeout", &flags->timeout, "How long to wait for the replicas; 0s: not at all");
  command.RecordFlag();
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Flag("--all", &flags->selection.all, "All of the kind in the namespace");
  RunVerb(command, [flags](Session& session) { return RunScale(session, *flags); });
}

}  // namespace flyball::cli
