#include "cli/kubectl/change/object_change.h"

#include <utility>

#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/three_way.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

constexpr const char* kNoObjects =
    "one or more resources must be specified as <resource> <name> or <resource>/<name>";
constexpr const char* kLocalNeedsFiles =
    "can only use local files by -f rsrc.yaml or --filename=rsrc.json when --local=true is set";

}  // namespace

void AddChangeFlags(const Command& command, ChangeFlags* flags, const std::string& manager) {
  flags->field_manager = manager;
  AddManifestFlags(command, &flags->files);
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Option("--field-manager", &flags->field_manager, "Who is said to own the fields");
  command.Flag("--local", &flags->local, "Change what is in the files and print it; ask no server");
}

void AddSelectionFlags(const Command& command, Selection* selection) {
  command.Option("-l,--selector", &selection->label_selector, "Those with these labels");
  command.Option("--field-selector", &selection->field_selector, "Those with these field values");
  command.Flag("--all", &selection->all, "All of the kind in the namespace");
  command.Flag("-A,--all-namespaces", &selection->all_namespaces, "In every namespace");
}

Result<std::vector<ChangeTarget>> ChangeTargets(Session& session, const ChangeFlags& flags,
                                                const std::vector<std::string>& args) {
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  if (flags.local && flags.files.empty()) return Unexpected(LocalError(kLocalNeedsFiles));
  if (args.empty() && flags.files.empty()) return Unexpected(LocalError(kNoObjects));
  std::vector<ChangeTarget> targets;
  if (flags.local) {
    ManifestFlags files = flags.files;
    files.local = true;
    FLYBALL_ASSIGN(auto manifests, ReadManifests(session, files));
    for (Manifest& m : manifests) targets.push_back({{m.kind, m.ns, m.name}, std::move(m.object)});
    return targets;
  }
  FLYBALL_ASSIGN(const auto refs, NamedObjects(session, flags.files, args, flags.selection));
  for (const ObjectRef& ref : refs) {
    auto object = session.Get(ref.kind, ref.ns, ref.name);
    if (object)
      targets.push_back({ref, std::move(*object)});
    else
      session.Report(object.error());
  }
  return targets;
}

Result<json::Value> SendPatch(Session& session, const ChangeFlags& flags, const ObjectRef& ref,
                              std::string_view content_type, const json::Value& patch,
                              std::string_view subresource) {
  RestRequest request;
  request.verb = "PATCH";
  request.path = ref.kind.Path(ref.ns, ref.name, subresource);
  request.content_type = content_type;
  request.body = json::Write(patch);
  request.Query("fieldManager", flags.field_manager);
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  return session.Call(std::move(request));
}

Result<json::Value> SendChange(Session& session, const ChangeFlags& flags, const ChangeTarget& target,
                               const json::Value& wanted) {
  json::Value changed = wanted;
  session.Record(changed);
  if (flags.only_prints()) return changed;
  const KindRef& kind = target.ref.kind;
  const auto* builtin = api::FindBuiltinKind(kind.group, kind.version, kind.kind);
  const json::Value patch =
      ThreeWayPatch(builtin ? builtin->type : nullptr, target.object, changed, target.object);
  if (patch.empty()) return target.object;
  return SendPatch(session, flags, target.ref, builtin ? kStrategicPatch : kMergePatch, patch);
}

Status SayChange(Session& session, const ChangeFlags& flags, const ObjectRef& ref, const json::Value& after,
                 std::string_view what) {
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, after);
  session.out() << DisplayName(ref.kind, ref.name) << " " << what << DryRunNote(flags.dry_run) << "\n";
  return {};
}

}  // namespace flyball::cli
