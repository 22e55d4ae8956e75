#include <memory>
#include <optional>

#include "api/values/duration.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct ReplaceFlags {
  ManifestFlags files;
  PrintFlags print;
  std::string raw, dry_run, field_manager = "kubectl-replace", validate = "strict", subresource;
  std::string cascade = "background", timeout = "0s";
  std::optional<std::int64_t> grace_period;
  bool force = false, save_config = false, wait = false;
};

Status SayReplaced(Session& session, const ReplaceFlags& flags, const Manifest& manifest,
                   const json::Value& object) {
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, object);
  session.out() << DisplayName(manifest.kind, manifest.name) << " replaced" << DryRunNote(flags.dry_run)
                << "\n";
  return {};
}

Status ReplaceRaw(Session& session, const ReplaceFlags& flags) {
  if (flags.files.files.size() != 1)
    return Unexpected(LocalError("--raw can only use a single local file or stdin"));
  FLYBALL_ASSIGN(const std::string body, ReadSource(flags.files.files[0]));
  RestRequest request = RawRequest(flags.raw);
  request.verb = "PUT";
  request.body = body;
  FLYBALL_ASSIGN(const std::string answer, session.CallText(std::move(request)));
  session.out() << answer;
  return {};
}

Status ReplaceOne(Session& session, const ReplaceFlags& flags, const Manifest& manifest) {
  json::Value object = flags.save_config ? WithLastApplied(manifest.object) : manifest.object;
  session.Record(object);
  if (flags.dry_run == "client") return SayReplaced(session, flags, manifest, object);
  // A manifest without a version means the newest: the last write wins, as in kubectl.
  if (std::as_const(object)["metadata"]["resourceVersion"].is_null()) {
    auto current = session.Get(manifest.kind, manifest.ns, manifest.name);
    if (!current && !current.error().Is(Reason::kNotFound))
      return Unexpected(current.error().Annotate("error when replacing \"" + manifest.source + "\""));
    // Some kinds may be created by a PUT: the server decides.
    if (current) object["metadata"]["resourceVersion"] = (*current)["metadata"]["resourceVersion"];
  }
  RestRequest request;
  request.verb = "PUT";
  request.path = manifest.kind.Path(manifest.ns, manifest.name, flags.subresource);
  request.body = json::Write(object);
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(flags.validate));
  request.Query("fieldManager", flags.field_manager).Query("fieldValidation", validation);
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  auto replaced = session.Call(std::move(request));
  if (!replaced)
    return Unexpected(replaced.error().Annotate("error when replacing \"" + manifest.source + "\""));
  return SayReplaced(session, flags, manifest, *replaced);
}

Status Recreate(Session& session, const ReplaceFlags& flags, const Manifest& manifest) {
  RestRequest request;
  request.verb = "DELETE";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  FLYBALL_ASSIGN(const std::string policy, PropagationPolicy(flags.cascade));
  request.body = json::Write(
      json::Object{{"propagationPolicy", policy}, {"gracePeriodSeconds", flags.grace_period.value_or(0)}});
  auto deleted = session.Call(std::move(request));
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  if (deleted) {
    session.out() << TypeName(manifest.kind) << " \"" << manifest.name << "\" deleted\n";
    FLYBALL_ASSIGN(const Duration timeout, api::ParseDuration(flags.timeout));
    FLYBALL_TRY(WaitUntilGone(session, {manifest.kind, manifest.ns, manifest.name}, "", timeout));
  }
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(flags.validate));
  FLYBALL_ASSIGN(const json::Value made,
                 session.Create(manifest.kind, manifest.ns,
                                flags.save_config ? WithLastApplied(manifest.object) : manifest.object,
                                flags.field_manager, false, validation));
  return SayReplaced(session, flags, manifest, made);
}

Status RunReplace(Session& session, const ReplaceFlags& flags) {
  if (!flags.raw.empty()) return ReplaceRaw(session, flags);
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  if (flags.grace_period && *flags.grace_period >= 0 && !flags.force)
    return Unexpected(LocalError("--grace-period must have --force specified"));
  FLYBALL_ASSIGN(const Duration timeout, api::ParseDuration(flags.timeout));
  if (timeout != Duration::zero() && !flags.force)
    return Unexpected(LocalError("--timeout must have --force specified"));
  if (flags.force && !DryRunNote(flags.dry_run).empty())
    return Unexpected(LocalError("--dry-run can not be used when --force is set"));
  ReadProblems problems;
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files, &problems));
  for (const Manifest& manifest : manifests)
    if (Status s = flags.force ? Recreate(session, flags, manifest) : ReplaceOne(session, flags, manifest);
        !s)
      session.Report(s.error());
  problems.Report(session);
  return {};
}

}  // namespace

void AddReplaceCommand(const Command& root) {
  auto flags = std::make_shared<ReplaceFlags>();
  const Command command =
      root.Sub("replace", "Put whole objects in the place of those there", "flyball replace -f web.yaml");
  AddManifestFlags(command, &flags->files);
  flags->files.validates = true;
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Option("--raw", &flags->raw, "Put the file to this path as it is");
  command.Option("--field-manager", &flags->field_manager, "Who is said to own the fields");
  command.Option("--validate", &flags->validate, "strict, warn or ignore: what to do about unknown fields",
                 "strict");
  command.Option("--subresource", &flags->subresource,
                 "status, scale or resize instead of the object itself");
  command.Option("--grace-period", &flags->grace_period,
                 "With --force: seconds that a pod gets to end by itself");
  command.Option("--timeout", &flags->timeout, "With --force: how long to wait for what was deleted");
  command.Option("--cascade", &flags->cascade,
                 "With --force: what happens to what they own: background, foreground or orphan",
                 "background");
  command.Flag("--wait", &flags->wait, "Accepted; --force always waits");
  command.RecordFlag();
  command.Flag("--save-config", &flags->save_config, "Remember what is written, for a later apply");
  command.Flag("--force", &flags->force, "Delete and create anew");
  RunVerb(command, [flags](Session& session) { return RunReplace(session, *flags); });
}

}  // namespace flyball::cli
