#include <memory>

#include "api/last_applied.h"
#include "api/schema.h"
#include "cli/error_text.h"
#include "cli/manifests.h"
#include "cli/printers.h"
#include "cli/resource_args.h"
#include "cli/session.h"
#include "cli/three_way.h"
#include "cli/verbs.h"
#include "json/json.h"
#include "json/yaml.h"

namespace flyball::cli {
namespace {

struct ApplyFlags {
  ManifestFlags files;
  PrintFlags print;
  std::string field_manager, dry_run, label_selector, validate;
  std::vector<std::string> prune_allowlist;
  bool server_side = false, force_conflicts = false, prune = false;
};

constexpr const char* kConflictAdvice =
    "Please review the fields above--they currently have other managers. Here\n"
    "are the ways you can resolve this warning:\n"
    "* If you intend to manage all of these fields, please re-run the apply\n"
    "  command with the `--force-conflicts` flag.\n"
    "* If you do not intend to manage all of the fields, please edit your\n"
    "  manifest to remove references to the fields that should keep their\n"
    "  current managers.\n"
    "* You may co-own fields by updating your manifest to match the existing\n"
    "  value; in this case, you'll become the manager if the other manager(s)\n"
    "  stop managing the field (remove it from their configuration).\n"
    "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts";

const json::Value& LastAppliedIn(const json::Value& object) {
  return object["metadata"]["annotations"][api::kLastAppliedAnnotation];
}

// The manifest with the annotation that remembers it.
json::Value WithLastApplied(const json::Value& object) {
  json::Value bare = object;
  if (bare["metadata"]["annotations"].is_null()) bare["metadata"]["annotations"] = json::Object();
  bare["metadata"]["annotations"].as_object().Erase(api::kLastAppliedAnnotation);
  json::Value sorted = bare;
  SortKeysDeep(sorted);
  bare["metadata"]["annotations"][api::kLastAppliedAnnotation] = json::Write(sorted) + "\n";
  return bare;
}

struct Applied {
  json::Value object;
  std::string what;  // "created", "configured", ...
};

Result<Applied> ApplyOnClient(Session& session, const ApplyFlags& flags, const Manifest& manifest) {
  const std::string manager = flags.field_manager.empty() ? "kubectl-client-side-apply" : flags.field_manager;
  const json::Value modified = WithLastApplied(manifest.object);
  auto current = session.Get(manifest.kind, manifest.ns, manifest.name);
  if (!current && !current.error().Is(Reason::kNotFound)) return Unexpected(current.error());
  if (!current) {
    auto made = session.Create(manifest.kind, manifest.ns, modified, manager, flags.dry_run == "server");
    if (!made) return Unexpected(made.error().Annotate("error when creating \"" + manifest.source + "\""));
    return Applied{std::move(*made), "created"};
  }
  json::Value original;
  if (const json::Value& text = LastAppliedIn(*current); text.is_string())
    if (auto parsed = json::Parse(text.as_string())) original = std::move(*parsed);
  if (original.is_null() && LastAppliedIn(*current).is_null())
    session.err()
        << "Warning: resource " << manifest.kind.plural << "/" << manifest.name
        << " is missing the kubectl.kubernetes.io/last-applied-configuration annotation which is required "
           "by kubectl apply. kubectl apply should only be used on resources created declaratively by "
           "either kubectl create --save-config or kubectl apply. The missing annotation will be patched "
           "automatically.\n";
  const api::KindInfo* builtin =
      api::FindBuiltinKind(manifest.kind.group, manifest.kind.version, manifest.kind.kind);
  const json::Value patch = ThreeWayPatch(builtin ? builtin->type : nullptr, original, modified, *current);
  if (patch.empty()) return Applied{std::move(*current), "unchanged"};
  RestRequest request;
  request.verb = "PATCH";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.content_type = builtin ? kStrategicPatch : kMergePatch;
  request.body = json::Write(patch);
  request.Query("fieldManager", manager).Query("fieldValidation", "Strict");
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  auto patched = session.Call(std::move(request));
  if (!patched)
    return Unexpected(patched.error().Annotate(
        "error when applying patch:\n" + json::Write(patch) + "\nto:\n" + manifest.kind.ApiVersion() +
        ", Resource=" + manifest.kind.plural + "\nName: \"" + manifest.name + "\", Namespace: \"" +
        manifest.ns + "\"\nfor: \"" + manifest.source + "\": error when patching \"" + manifest.source +
        "\""));
  const bool same = (*patched)["metadata"]["resourceVersion"] == (*current)["metadata"]["resourceVersion"];
  return Applied{std::move(*patched), same ? "unchanged" : "configured"};
}

Result<Applied> ApplyOnServer(Session& session, const ApplyFlags& flags, const Manifest& manifest) {
  RestRequest request;
  request.verb = "PATCH";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.content_type = kApplyPatch;
  request.body = json::Write(manifest.object);
  request.Query("fieldManager", flags.field_manager.empty() ? "kubectl" : flags.field_manager)
      .Query("fieldValidation", "Strict")
      .Query("force", flags.force_conflicts ? "true" : "false");
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  auto applied = session.Call(std::move(request));
  if (!applied && applied.error().Is(Reason::kConflict))
    return Unexpected(LocalError(applied.error().message() + "\n" + kConflictAdvice));
  if (!applied) return Unexpected(applied.error());
  return Applied{std::move(*applied), "serverside-applied"};
}

bool Listed(const std::vector<Manifest>& manifests, const KindRef& kind, const json::Value& object) {
  for (const Manifest& m : manifests)
    if (m.kind == kind && m.name == object["metadata"]["name"].string_or("") &&
        m.ns == object["metadata"]["namespace"].string_or(""))
      return true;
  return false;
}

// Deletes what an earlier apply made and the manifests say no more, of the kinds on the allow-list.
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
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files));
  const std::string note =
      flags.dry_run.empty() || flags.dry_run == "none" ? "" : " (" + flags.dry_run + " dry run)";
  for (const Manifest& manifest : manifests) {
    auto applied =
        flags.server_side ? ApplyOnServer(session, flags, manifest) : ApplyOnClient(session, flags, manifest);
    if (!applied) {
      session.Report(applied.error());
      continue;
    }
    if (printer)
      session.out() << printer->Print(applied->object);
    else
      session.out() << DisplayName(manifest.kind, manifest.name) << " " << applied->what << note << "\n";
  }
  if (flags.prune && !session.failed()) return Prune(session, flags, manifests);
  return {};
}

Status ViewLastApplied(Session& session, const ManifestFlags& files, const std::vector<std::string>& args,
                       const std::string& output) {
  std::vector<ObjectRef> refs;
  if (!files.empty()) {
    FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, files));
    for (const Manifest& m : manifests) refs.push_back({m.kind, m.ns, m.name});
  } else {
    FLYBALL_ASSIGN(refs, ResolveObjects(session, args, {}));
  }
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
  apply.Option("--field-manager", &flags->field_manager, "Who is said to own the fields");
  apply.Option("--dry-run", &flags->dry_run, "server: everything but storing it");
  apply.Option("-l,--selector", &flags->label_selector, "With --prune: only objects with these labels");
  apply.Option("--prune-allowlist", &flags->prune_allowlist,
               "With --prune: group/version/kind; may be repeated");
  apply.Option("--validate", &flags->validate, "strict, which is the default");
  apply.Flag("--prune", &flags->prune, "Delete what was applied before and is no more in the manifests");
  apply.Flag("--server-side", &flags->server_side, "Let the server merge and keep the owners of fields");
  apply.Flag("--force-conflicts", &flags->force_conflicts, "With --server-side: take over fields of others");
  const Command view = apply.Sub("view-last-applied", "Show what was applied last",
                                 "flyball apply view-last-applied deploy/web");
  auto files = std::make_shared<ManifestFlags>();
  auto args = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  AddManifestFlags(view, files.get());
  view.Args("TYPE/NAME", args.get(), "Which objects");
  view.Option("-o,--output", output.get(), "yaml or json");
  view.Run(
      [files, args, output](Session& session) { return ViewLastApplied(session, *files, *args, *output); });
  apply.Run([flags](Session& session) { return RunApply(session, *flags); });
}

}  // namespace flyball::cli
