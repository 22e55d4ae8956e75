#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct ApplyFlags {
  ManifestFlags files;
  PrintFlags print;
  ApplyOptions options;
  std::string label_selector, validate;
  std::vector<std::string> prune_allowlist;
  bool prune = false;
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
                   ListObjects(session, kind, session.NamespaceFor(kind), flags.label_selector));
    for (const json::Value& item : items) {
      if (!LastAppliedIn(item).is_string() || Listed(manifests, kind, item)) continue;
      RestRequest request;
      request.verb = "DELETE";
      request.path =
          kind.Path(item["metadata"]["namespace"].string_or(""), item["metadata"]["name"].string_or(""));
      request.body = R"({"propagationPolicy":"Background"})";
      FLYBALL_TRY(session.Call(std::move(request)));
      session.out() << NameOf(item) << " pruned\n";
    }
  }
  return {};
}

Status RunApply(Session& session, const ApplyFlags& flags) {
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  ReadProblems problems;
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files, &problems));
  problems.Report(session);
  const std::string note = DryRunNote(flags.options.dry_run);
  for (const Manifest& manifest : manifests) {
    auto applied = ApplyManifest(session, flags.options, manifest);
    if (!applied) {
      session.Report(applied.error());
      continue;
    }
    if (printer)
      FLYBALL_TRY(PrintTo(session.out(), *printer, applied->object));
    else
      session.out() << DisplayName(manifest.kind, manifest.name) << " " << applied->what << note << "\n";
  }
  if (flags.prune && !session.failed()) return Prune(session, flags, manifests);
  return {};
}

Status ViewLastApplied(Session& session, const ManifestFlags& files, const std::vector<std::string>& args,
                       const std::string& output) {
  FLYBALL_ASSIGN(const auto refs, NamedObjects(session, files, args, {}));
  for (const ObjectRef& ref : refs) {
    FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
    const json::Value& text = LastAppliedIn(object);
    if (!text.is_string())
      return Unexpected(
          LocalError("no last-applied-configuration annotation found on resource: " + ref.name));
    FLYBALL_ASSIGN(const json::Value applied, json::Parse(text.as_string()));
    session.out() << (output == "json" ? json::WritePretty(applied) + "\n" : json::WriteYaml(applied));
  }
  return {};
}

}  // namespace

void AddApplyCommand(const Command& root) {
  auto flags = std::make_shared<ApplyFlags>();
  const Command apply = root.Sub("apply", "Make objects match their manifests", "flyball apply -f web.yaml");
  AddManifestFlags(apply, &flags->files);
  apply.Option("-o,--output", &flags->print.output, "yaml, json, name, jsonpath=...");
  apply.Option("--field-manager", &flags->options.field_manager, "Who is said to own the fields");
  apply.Option("--dry-run", &flags->options.dry_run,
               "client: only say what would be done; server: everything but storing it");
  apply.Option("-l,--selector", &flags->label_selector, "With --prune: only objects with these labels");
  apply.Option("--prune-allowlist", &flags->prune_allowlist,
               "With --prune: group/version/kind; may be repeated");
  apply.Option("--validate", &flags->validate, "strict, which is the default");
  apply.Flag("--prune", &flags->prune, "Delete what was applied before and is no more in the manifests");
  apply.Flag("--server-side", &flags->options.server_side,
             "Let the server merge and keep the owners of fields");
  apply.Flag("--force-conflicts", &flags->options.force_conflicts,
             "With --server-side: take over fields of others");
  const Command view = apply.Sub("view-last-applied", "Show what was applied last",
                                 "flyball apply view-last-applied deploy/web");
  auto files = std::make_shared<ManifestFlags>();
  auto args = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  AddManifestFlags(view, files.get());
  view.Args("TYPE/NAME", args.get(), "Which objects");
  view.Option("-o,--output", output.get(), "yaml or json");
  RunVerb(view, [files, args, output](Session& session) {
    return ViewLastApplied(session, *files, *args, *output);
  });
  RunVerb(apply, [flags](Session& session) { return RunApply(session, *flags); });
}

}  // namespace flyball::cli
