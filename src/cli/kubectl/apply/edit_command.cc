#include <memory>

#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/editor.h"
#include "cli/kubectl/apply/three_way.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct EditFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  PrintFlags print;
  std::string field_manager = "kubectl-edit", subresource;
};

// The user's changes as a patch.
Result<json::Value> SendEdit(Session& session, const EditFlags& flags, const ObjectRef& ref,
                             const json::Value& before, const std::string& text) {
  auto after = json::ParseYaml(text);
  if (!after) return Unexpected(LocalError("not valid YAML: " + after.error().message()));
  if (!after->is_object()) return Unexpected(LocalError("not an object"));
  const api::KindInfo* builtin = api::FindBuiltinKind(ref.kind.group, ref.kind.version, ref.kind.kind);
  const json::Value patch = ThreeWayPatch(builtin ? builtin->type : nullptr, before, *after, before);
  return session.Patch(ref.kind, ref.ns, ref.name, builtin ? kStrategicPatch : kMergePatch, patch,
                       flags.field_manager, flags.subresource);
}

Status EditOne(Session& session, const EditFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const auto result_printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter({.output = "yaml"}));
  FLYBALL_ASSIGN(const std::string original, printer->Print(object));
  FLYBALL_ASSIGN(const json::Value before, json::ParseYaml(original));
  return EditText(session, original, [&](const std::string& text) -> Status {
    FLYBALL_ASSIGN(const json::Value after, SendEdit(session, flags, ref, before, text));
    if (result_printer) return PrintTo(session.out(), *result_printer, after);
    session.out() << DisplayName(ref.kind, ref.name) << " edited\n";
    return {};
  });
}

Status RunEdit(Session& session, const EditFlags& flags) {
  if (!flags.print.output.empty() && flags.print.output != "yaml" && flags.print.output != "json")
    return Unexpected(LocalError("unable to match a printer suitable for the output format \"" +
                                 flags.print.output + "\", allowed formats are: json,yaml"));
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, flags.args, {}));
  for (const ObjectRef& object : objects) FLYBALL_TRY(EditOne(session, flags, object));
  return {};
}

}  // namespace

void AddEditCommand(const Command& root) {
  auto flags = std::make_shared<EditFlags>();
  const Command command = root.Sub("edit", "Change an object in an editor ($KUBE_EDITOR, $EDITOR)",
                                   "KUBE_EDITOR=nano flyball edit deploy/web");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  command.Option("-o,--output", &flags->print.output, "yaml or json: how to print the result");
  command.Option("--field-manager", &flags->field_manager, "Who is said to own the fields");
  command.Option("--subresource", &flags->subresource, "status or resize instead of the object itself");
  RunVerb(command, [flags](Session& session) { return RunEdit(session, *flags); });
}

}  // namespace flyball::cli
