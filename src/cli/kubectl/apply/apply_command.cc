#include <memory>
#include <optional>
#include <set>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/apply/apply_set.h"
#include "cli/kubectl/apply/last_applied_commands.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct ApplyFlags {
  ManifestFlags files;
  PrintFlags print;
  ApplyOptions options;
  std::string apply_set;  // its parent
  std::vector<std::string> prune_allowlist;
  bool prune = false, all = false, overwrite = true;
};

bool Listed(const std::vector<Manifest>& manifests, const KindRef& kind, const json::Value& object) {
  for (const Manifest& m : manifests)
    if (m.kind == kind && m.name == object["metadata"]["name"].string_or("") &&
        m.ns == object["metadata"]["namespace"].string_or(""))
      return true;
  return false;
}

// Deletes objects that an earlier apply created and the manifests no longer contain, of the kinds on the
// allow-list.
Status Prune(Session& session, const ApplyFlags& flags, const std::vector<Manifest>& manifests) {
  for (const std::string& allowed : flags.prune_allowlist) {
    const auto parts = SplitText(allowed, '/');
    if (parts.size() != 3)
      return Unexpected(
          LocalError("invalid GroupVersionKind format: " + allowed + ", please follow <group/version/kind>"));
    FLYBALL_ASSIGN(const KindRef kind,
                   session.mapper().ForKind(parts[0] == "core" ? "" : parts[0], parts[1], parts[2]));
    FLYBALL_ASSIGN(const auto items,
                   ListObjects(session, kind, session.NamespaceFor(kind), flags.files.label_selector));
    for (const json::Value& item : items) {
      if (!LastAppliedIn(item).is_string() || Listed(manifests, kind, item)) continue;
      RestRequest request;
      request.verb = "DELETE";
      request.path =
          kind.Path(item["metadata"]["namespace"].string_or(""), item["metadata"]["name"].string_or(""));
      request.body = flags.options.dry_run == "server"
                         ? R"({"propagationPolicy":"Background","dryRun":["All"]})"
                         : R"({"propagationPolicy":"Background"})";
      if (flags.options.dry_run != "client") FLYBALL_TRY(session.Call(std::move(request)));
      session.out() << NameOf(item) << " pruned" << DryRunNote(flags.options.dry_run) << "\n";
    }
  }
  return {};
}

Status CheckApplySet(const ApplyFlags& flags) {
  if (!flags.prune) return Unexpected(LocalError("--applyset requires --prune"));
  if (flags.all) return Unexpected(LocalError("--all is incompatible with --applyset"));
  if (!flags.files.label_selector.empty())
    return Unexpected(LocalError("--selector is incompatible with --applyset"));
  if (!flags.prune_allowlist.empty())
    return Unexpected(LocalError("--prune-allowlist is incompatible with --applyset"));
  return {};
}

Status CheckApply(const ApplyFlags& flags) {
  const ApplyOptions& options = flags.options;
  if (!flags.overwrite) return Unexpected(LocalError("--overwrite=false is not implemented"));
  if (options.force_conflicts && !options.server_side)
    return Unexpected(LocalError("--force-conflicts only works with --server-side"));
  if (options.server_side && options.dry_run == "client")
    return Unexpected(LocalError(
        "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)"));
  if (!flags.apply_set.empty()) return CheckApplySet(flags);
  if (flags.prune && flags.all && !flags.files.label_selector.empty())
    return Unexpected(LocalError("cannot set --all and --selector at the same time"));
  if (flags.prune && !flags.all && flags.files.label_selector.empty())
    return Unexpected(LocalError(
        "all resources selected for prune without explicitly passing --all. To prune all resources, "
        "pass the --all flag. If you did not mean to prune all resources, specify a label selector"));
  return {};
}

// Returns what became of one manifest, and prints it.
Result<json::Value> ApplyOne(Session& session, const ApplyFlags& flags, const Manifest& manifest,
                             ObjectPrinter* printer) {
  FLYBALL_ASSIGN(Applied applied, ApplyManifest(session, flags.options, manifest));
  if (printer)
    FLYBALL_TRY(PrintTo(session.out(), *printer, applied.object));
  else
    session.out() << DisplayName(manifest.kind, manifest.name) << " " << applied.what
                  << DryRunNote(flags.options.dry_run) << "\n";
  return std::move(applied.object);
}

Status RunApply(Session& session, const ApplyFlags& flags) {
  FLYBALL_TRY(CheckDryRun(flags.options.dry_run));
  FLYBALL_TRY(CheckApply(flags));
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  std::optional<ApplySet> set;
  if (!flags.apply_set.empty()) {
    FLYBALL_ASSIGN(ApplySet opened, ApplySet::Open(session, flags.apply_set, flags.options));
    set.emplace(std::move(opened));
  }
  ReadProblems problems;
  FLYBALL_ASSIGN(auto manifests, ReadManifests(session, flags.files, &problems));
  problems.Report(session);
  if (set) FLYBALL_TRY(set->BeforeApply(manifests));
  std::set<std::string> uids;
  for (const Manifest& manifest : manifests) {
    const auto applied = ApplyOne(session, flags, manifest, printer.get());
    if (applied)
      uids.emplace((*applied)["metadata"]["uid"].string_or(""));
    else
      session.Report(applied.error());
  }
  if (!flags.prune || session.failed()) return {};
  return set ? set->Prune(uids) : Prune(session, flags, manifests);
}

}  // namespace

void AddApplyCommand(const Command& root) {
  auto flags = std::make_shared<ApplyFlags>();
  const Command apply = root.Sub("apply", "Make objects match their manifests", "flyball apply -f web.yaml");
  AddManifestFlags(apply, &flags->files);
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
  apply.Flag("--overwrite", &flags->overwrite, "Take over what others changed, which is the only way");
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
  RunVerb(apply, [flags](Session& session) { return RunApply(session, *flags); });
}

}  // namespace flyball::cli
