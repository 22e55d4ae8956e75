#include "cli/kubectl/apply/last_applied_commands.h"

#include <memory>

#include "api/apply/last_applied.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/apply/editor.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct LastAppliedFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::string output = "yaml", dry_run, field_manager, validate = "strict";
  bool create = false, windows = false;
};
using LastAppliedFlagsPtr = std::shared_ptr<LastAppliedFlags>;

Status View(Session& session, const LastAppliedFlags& flags) {
  if (flags.output != "yaml" && flags.output != "json")
    return Unexpected(session.UsageError("Unexpected -o output mode: " + flags.output +
                                         ", the flag 'output' must be one of yaml|json"));
  FLYBALL_ASSIGN(const auto refs, NamedObjects(session, flags.files, flags.args, flags.selection));
  for (const ObjectRef& ref : refs) {
    FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
    const json::Value& text = LastAppliedIn(object);
    if (!text.is_string()) continue;
    FLYBALL_ASSIGN(const json::Value applied, json::Parse(text.as_string()));
    session.out() << (flags.output == "json" ? json::WritePretty(applied) + "\n" : json::WriteYaml(applied));
  }
  return {};
}

Result<json::Value> WriteAnnotation(Session& session, const LastAppliedFlags& flags, const ObjectRef& ref,
                                    const json::Value& text) {
  json::Value patch;
  patch["metadata"]["annotations"][api::kLastAppliedAnnotation] = text;
  RestRequest request;
  request.verb = "PATCH";
  request.path = ref.kind.Path(ref.ns, ref.name);
  request.content_type = kMergePatch;
  request.body = json::Write(patch);
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  if (!flags.field_manager.empty()) request.Query("fieldManager", flags.field_manager);
  return session.Call(std::move(request));
}

Status SetOne(Session& session, const LastAppliedFlags& flags, const Manifest& manifest) {
  FLYBALL_ASSIGN(const json::Value live, session.Get(manifest.kind, manifest.ns, manifest.name));
  if (!LastAppliedIn(live).is_string() && !flags.create)
    return Unexpected(
        LocalError("no last-applied-configuration annotation found on resource: " + manifest.name +
                   ", to create the annotation, run the command with --create-annotation"));
  const json::Value wanted = LastAppliedIn(WithLastApplied(manifest.object));
  if (wanted == LastAppliedIn(live)) {
    session.out() << "set-last-applied " << manifest.name << ": no changes required.\n";
    return {};
  }
  json::Value after = live;
  const ObjectRef ref{manifest.kind, manifest.ns, manifest.name};
  if (flags.dry_run != "client") {
    FLYBALL_ASSIGN(after, WriteAnnotation(session, flags, ref, wanted));
  }
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, after);
  session.out() << DisplayName(ref.kind, ref.name) << " configured" << DryRunNote(flags.dry_run) << "\n";
  return {};
}

Status Set(Session& session, const LastAppliedFlags& flags) {
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  if (flags.files.empty()) FLYBALL_TRY(ParseResourceArgs(session, {}));
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files));
  for (const Manifest& manifest : manifests) FLYBALL_TRY(SetOne(session, flags, manifest));
  return {};
}

Status EditOneLastApplied(Session& session, const LastAppliedFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value live, session.Get(ref.kind, ref.ns, ref.name));
  if (!LastAppliedIn(live).is_string())
    return Unexpected(LocalError("no last-applied-configuration annotation found on resource: " + ref.name));
  FLYBALL_ASSIGN(const json::Value applied, json::Parse(LastAppliedIn(live).as_string()));
  const auto accept = [&](const std::string& text) -> Result<EditVerdict> {
    const auto changed = json::ParseYaml(text);
    if (!changed || !changed->is_object())
      return EditVerdict{.problems = {"The edited file had a syntax error: " +
                                      (changed ? "not an object" : changed.error().message())}};
    FLYBALL_ASSIGN(const json::Value after,
                   WriteAnnotation(session, flags, ref, LastAppliedIn(WithLastApplied(*changed))));
    FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
    if (printer) {
      FLYBALL_TRY(PrintTo(session.out(), *printer, after));
      return EditVerdict{};
    }
    session.out() << DisplayName(ref.kind, ref.name) << " edited\n";
    return EditVerdict{};
  };
  const bool as_json = flags.print.output == "json";
  return EditText(session, as_json ? json::WritePretty(applied) + "\n" : json::WriteYaml(applied),
                  {.json = as_json, .windows = flags.windows, .advice = EditorStyle::Advice::kLastApplied},
                  accept);
}

Status EditLastApplied(Session& session, const LastAppliedFlags& flags) {
  FLYBALL_TRY(ValidationOf(flags.validate));
  FLYBALL_ASSIGN(const auto refs, NamedObjects(session, flags.files, flags.args, flags.selection));
  for (const ObjectRef& ref : refs) FLYBALL_TRY(EditOneLastApplied(session, flags, ref));
  return {};
}

LastAppliedFlagsPtr AddOne(const Command& apply, const char* name, const char* summary, const char* example,
                           Status (*run)(Session&, const LastAppliedFlags&),
                           const std::function<void(const Command&, LastAppliedFlags&)>& more) {
  auto flags = std::make_shared<LastAppliedFlags>();
  const Command command = apply.Sub(name, summary, example);
  AddManifestFlags(command, &flags->files);
  more(command, *flags);
  RunVerb(command, [flags, run](Session& session) { return run(session, *flags); });
  return flags;
}

}  // namespace

void AddLastAppliedCommands(const Command& apply) {
  AddOne(apply, "view-last-applied", "Show what was applied last",
         "flyball apply view-last-applied deploy/web", &View,
         [](const Command& command, LastAppliedFlags& flags) {
           command.Args("TYPE/NAME", &flags.args, "Which objects");
           command.Option("-o,--output", &flags.output, "yaml or json");
           command.Option("-l,--selector", &flags.selection.label_selector, "Those with these labels");
           command.Flag("--all", &flags.selection.all, "All of the kind in the namespace");
         });
  AddOne(apply, "set-last-applied", "Say what was applied last, without applying it",
         "flyball apply set-last-applied -f web.yaml", &Set,
         [](const Command& command, LastAppliedFlags& flags) {
           AddPrintFlags(command, &flags.print);
           AddDryRunFlag(command, &flags.dry_run);
           command.Flag("--create-annotation", &flags.create, "Also for objects that were never applied");
         });
  AddOne(
      apply, "edit-last-applied", "Edit what was applied last", "flyball apply edit-last-applied deploy/web",
      &EditLastApplied, [](const Command& command, LastAppliedFlags& flags) {
        command.Args("TYPE/NAME", &flags.args, "Which objects");
        AddPrintFlags(command, &flags.print);
        flags.field_manager = "kubectl-client-side-apply";
        command.Option("--field-manager", &flags.field_manager, "Who is said to own the fields");
        command.Option("--validate", &flags.validate, "Accepted: what is written is an annotation", "strict");
        command.Flag("--windows-line-endings", &flags.windows, "Lines end with CR LF in the editor");
      });
}

}  // namespace flyball::cli
