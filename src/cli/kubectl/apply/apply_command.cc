#include <memory>
#include <optional>
#include <set>

#include "base/observe/progress.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/apply/apply_set.h"
#include "cli/kubectl/apply/last_applied_commands.h"
#include "cli/kubectl/apply/prune.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

// With fewer objects nobody waits.
constexpr std::size_t kWorthProgress = 50;

struct ApplyFlags {
  ManifestFlags files;
  PrintFlags print;
  ApplyOptions options;
  std::string apply_set;  // its parent
  std::vector<std::string> prune_allowlist;
  bool prune = false, all = false, openapi_patch = true, wait = false;
  bool shows_progress = false;  // kubectl has no such thing
  std::string cascade = "background", timeout = "0s";
};

// What became of the manifests.
struct Outcome {
  std::vector<json::Value> objects;
  std::set<std::string> uids, namespaces;
};

// Deletes objects that an earlier apply created and the manifests no longer contain.
Status Prune(Session& session, const ApplyFlags& flags, const Outcome& outcome) {
  FLYBALL_ASSIGN(const auto prunable,
                 FindPrunable(session, {flags.prune_allowlist, flags.files.label_selector},
                              outcome.namespaces, outcome.uids));
  json::Value how = json::Object{{"propagationPolicy", flags.options.cascade}};
  if (flags.options.grace_period) how["gracePeriodSeconds"] = *flags.options.grace_period;
  if (flags.options.dry_run == "server") how["dryRun"] = json::Array{"All"};
  for (const auto& [kind, object] : prunable) {
    RestRequest request;
    request.verb = "DELETE";
    request.path =
        kind.Path(object["metadata"]["namespace"].string_or(""), object["metadata"]["name"].string_or(""));
    request.body = json::Write(how);
    if (flags.options.dry_run != "client") FLYBALL_TRY(session.Call(std::move(request)));
    session.out() << NameOf(object) << " pruned" << DryRunNote(flags.options.dry_run) << "\n";
  }
  return {};
}

Status CheckApplySet(const ApplyFlags& flags) {
  if (flags.all) return Unexpected(LocalError("--all is incompatible with --applyset"));
  if (!flags.files.label_selector.empty())
    return Unexpected(LocalError("--selector is incompatible with --applyset"));
  if (!flags.prune_allowlist.empty())
    return Unexpected(LocalError("--prune-allowlist is incompatible with --applyset"));
  return {};
}

Status CheckPrune(const ApplyFlags& flags) {
  if (flags.options.force) return Unexpected(LocalError("--force cannot be used with --prune"));
  if (!flags.apply_set.empty()) return CheckApplySet(flags);
  if (!flags.all && flags.files.label_selector.empty())
    return Unexpected(LocalError(
        "all resources selected for prune without explicitly passing --all. To prune all resources, "
        "pass the --all flag. If you did not mean to prune all resources, specify a label selector"));
  if (!flags.options.server_side) return {};
  return Unexpected(
      LocalError("--prune is in alpha and doesn't currently work on objects created by server-side apply"));
}

Status CheckApply(const ApplyFlags& flags) {
  const ApplyOptions& options = flags.options;
  if (options.force_conflicts && !options.server_side)
    return Unexpected(LocalError("--force-conflicts only works with --server-side"));
  if (options.server_side && options.dry_run == "client")
    return Unexpected(LocalError(
        "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)"));
  if (options.server_side && options.force)
    return Unexpected(LocalError("--force cannot be used with --server-side"));
  if (options.dry_run == "server" && options.force)
    return Unexpected(LocalError("--dry-run=server cannot be used with --force"));
  if (flags.all && !flags.files.label_selector.empty())
    return Unexpected(LocalError("cannot set --all and --selector at the same time"));
  if (!flags.apply_set.empty() && !flags.prune) return Unexpected(LocalError("--applyset requires --prune"));
  if (flags.prune) FLYBALL_TRY(CheckPrune(flags));
  if (!options.subresource.empty() && !options.server_side)
    return Unexpected(LocalError("--subresource can only be specified for --server-side"));
  return {};
}

void WarnIfDeleting(Session& session, const json::Value& object) {
  if (object["metadata"]["deletionTimestamp"].is_string())
    session.err() << "Warning: Detected changes to resource " << object["metadata"]["name"].string_or("")
                  << " which is currently being deleted.\n";
}

// -o other than name: the objects are printed at the end.
bool PrintsObjects(const ApplyFlags& flags) {
  return !flags.print.output.empty() && flags.print.output != "name";
}

Status ApplyOne(Session& session, const ApplyFlags& flags, Manifest manifest, ObjectPrinter* printer,
                ProgressLine& progress, Outcome& outcome) {
  if (manifest.kind.namespaced) outcome.namespaces.insert(manifest.ns);
  session.Record(manifest.object);
  FLYBALL_ASSIGN(Applied applied, ApplyManifest(session, flags.options, manifest));
  progress.Clear();
  WarnIfDeleting(session, applied.object);
  outcome.uids.emplace(std::as_const(applied.object)["metadata"]["uid"].string_or(""));
  if (!printer)
    session.out() << DisplayName(manifest.kind, manifest.name) << " " << applied.what
                  << DryRunNote(flags.options.dry_run) << "\n";
  else if (!PrintsObjects(flags))
    FLYBALL_TRY(PrintTo(session.out(), *printer, applied.object));
  outcome.objects.push_back(std::move(applied.object));
  return {};
}

std::string ProgressText(std::size_t applied, std::size_t all) {
  return ProgressBar(static_cast<std::int64_t>(applied), static_cast<std::int64_t>(all)) + "  " +
         std::to_string(applied) + " of " + std::to_string(all) + " objects";
}

Result<Outcome> ApplyAll(Session& session, const ApplyFlags& flags, const std::vector<Manifest>& manifests,
                         ObjectPrinter* printer) {
  Outcome outcome;
  if (session.ns_given()) outcome.namespaces.insert(session.ns());
  ProgressLine progress(flags.shows_progress && manifests.size() >= kWorthProgress && ProgressLine::Wanted());
  std::size_t applied = 0;
  for (const Manifest& manifest : manifests) {
    if (const Status done = ApplyOne(session, flags, manifest, printer, progress, outcome); !done)
      session.Report(done.error());
    progress.Show(ProgressText(++applied, manifests.size()));
  }
  if (session.failed() || !PrintsObjects(flags) || outcome.objects.empty()) return outcome;
  const json::Value all = outcome.objects.size() == 1 ? outcome.objects[0] : ListOf(outcome.objects);
  FLYBALL_TRY(PrintTo(session.out(), *printer, all));
  return outcome;
}

Status RunApply(Session& session, const ApplyFlags& flags) {
  FLYBALL_TRY(CheckDryRun(flags.options.dry_run));
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_TRY(CheckApply(flags));
  if (flags.prune) FLYBALL_TRY(CheckAllowlist(session, {flags.prune_allowlist}));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  std::optional<ApplySet> set;
  if (!flags.apply_set.empty()) {
    FLYBALL_ASSIGN(ApplySet opened, ApplySet::Open(session, flags.apply_set, flags.options));
    set.emplace(std::move(opened));
  }
  ReadProblems problems;
  FLYBALL_ASSIGN(auto manifests, ReadManifests(session, flags.files, &problems));
  problems.Report(session);
  if (manifests.empty() && !session.failed()) return Unexpected(LocalError("no objects passed to apply"));
  if (set) FLYBALL_TRY(set->BeforeApply(manifests));
  FLYBALL_ASSIGN(const Outcome outcome, ApplyAll(session, flags, manifests, printer.get()));
  if (!flags.prune || session.failed()) return {};
  return set ? set->Prune(outcome.uids) : Prune(session, flags, outcome);
}

}  // namespace

void AddApplyCommand(const Command& root) {
  auto flags = std::make_shared<ApplyFlags>();
  const Command apply = root.Sub("apply", "Make objects match their manifests", "flyball apply -f web.yaml");
  AddManifestFlags(apply, &flags->files);
  flags->files.validates = true;
  AddPrintFlags(apply, &flags->print);
  apply.Option("--field-manager", &flags->options.field_manager, "Who is said to own the fields");
  AddDryRunFlag(apply, &flags->options.dry_run);
  apply.Option("-l,--selector", &flags->files.label_selector,
               "Only objects with these labels: of the files, and with --prune of the server");
  apply.Option("--prune-allowlist", &flags->prune_allowlist,
               "With --prune: group/version/kind; may be repeated");
  apply.Option("--validate", &flags->options.validate,
               "strict, warn or ignore: what to do about unknown fields", "strict");
  apply.Flag("--all", &flags->all, "With --prune: whatever the labels");
  apply.Flag("--overwrite", &flags->options.overwrite,
             "Take over what others changed since the last apply; else that is an error");
  apply.Option("--subresource", &flags->options.subresource,
               "With --server-side: status, scale or resize instead of the object itself");
  apply.Option("--cascade", &flags->cascade,
               "With --prune and --force: what happens to what they own: background, foreground or orphan",
               "background");
  apply.Flag("--openapi-patch", &flags->openapi_patch, "Accepted; patches are made with the schemas in here");
  apply.Option("--timeout", &flags->timeout, "With --force: how long to wait for what was deleted");
  apply.Flag("--wait", &flags->wait, "Accepted; --force always waits");
  apply.RecordFlag();
  apply.Flag("--prune", &flags->prune, "Delete what was applied before and is no more in the manifests");
  // In kubectl it is an alpha feature.
  if (root.invocation().program == "flyball" || FromEnvironment({"KUBECTL_APPLYSET"}, "") == "true")
    apply.Option("--applyset", &flags->apply_set,
                 "With --prune: the object that tracks what is applied, [RESOURCE[.GROUP]/]NAME; a Secret "
                 "without RESOURCE");
  apply.Flag("--server-side", &flags->options.server_side,
             "Let the server merge and keep the owners of fields");
  apply.Flag("--force-conflicts", &flags->options.force_conflicts,
             "With --server-side: take over fields of others");
  apply.Flag("--force", &flags->options.force,
             "Delete and create again what cannot be patched; the object is gone for a moment");
  apply.Option("--grace-period", &flags->options.grace_period,
               "With --force: seconds that a pod gets to end by itself");
  AddLastAppliedCommands(apply);
  flags->shows_progress = root.invocation().program == "flyball";
  RunVerb(apply, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(flags->options.cascade, PropagationPolicy(flags->cascade));
    return RunApply(session, *flags);
  });
}

}  // namespace flyball::cli
