#include <memory>

#include "api/schema/schema.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/apply/editor.h"
#include "cli/kubectl/apply/three_way.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct EditFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  PrintFlags print;
  std::string field_manager = "kubectl-edit", subresource, validate = "strict";
  bool save_config = false, output_patch = false, windows = false;
};

// An object that is edited, as it was read.
struct Edited {
  ObjectRef ref;
  json::Value object;  // without managedFields
};

constexpr const char* kIdentityChanged = "At least one of apiVersion, kind and name was changed";

// What is wrong with an edited object: lines for the next edit, or what to do with the file.
EditVerdict VerdictOn(Session& session, const Edited& item, const Error& error) {
  const std::string what = item.ref.kind.GroupResource() + " \"" + item.ref.name + "\"";
  if (error.Is(Reason::kNotFound)) {
    session.err() << "error: " << what << " could not be found on the server\n";
    return {.kept_note = "The edits you made on deleted resources have been saved to \"%\""};
  }
  if (!error.Is(Reason::kInvalid)) {
    session.err() << "error: " << what << " could not be patched: " << error.message() << "\n";
    return {.kept_note = "You can run `kubectl replace -f %` to try this update again."};
  }
  session.err() << "error: " << what << " is invalid\n";
  EditVerdict verdict;
  const auto& causes = error.details().causes;
  verdict.problems.push_back(what + " was not valid" + (causes.empty() ? "" : ":"));
  for (const Cause& cause : causes) verdict.problems.push_back("* " + cause.field + ": " + cause.message);
  return verdict;
}

class EditSession {
 public:
  EditSession(Session& session, const EditFlags& flags, std::vector<Edited> items)
      : session_(session), flags_(flags), items_(std::move(items)) {}

  Status Run() {
    const bool as_json = flags_.print.output == "json";
    FLYBALL_ASSIGN(const auto printer, NewObjectPrinter({.output = as_json ? "json" : "yaml"}));
    FLYBALL_ASSIGN(printer_, NewObjectPrinter(flags_.print));
    std::vector<json::Value> objects;
    for (const Edited& item : items_) objects.push_back(item.object);
    json::Value list = ListOf(objects);
    list["metadata"] = json::Object();
    FLYBALL_ASSIGN(const std::string text, printer->Print(items_.size() == 1 ? objects[0] : list));
    return EditText(session_, text, {.json = as_json, .windows = flags_.windows},
                    [this](const std::string& saved) { return Accept(saved); });
  }

 private:
  Result<EditVerdict> Accept(const std::string& text) {
    auto saved = json::ParseYaml(text);
    if (!saved)
      return EditVerdict{.problems = {"The edited file had a syntax error: error parsing edited-file: " +
                                      saved.error().message()}};
    const bool list = std::as_const(*saved)["items"].is_array();
    EditVerdict all;
    for (const json::Value& object : list ? Elements(std::as_const(*saved)["items"]) : json::Array{*saved}) {
      FLYBALL_ASSIGN(const EditVerdict one, AcceptOne(object));
      all.problems.insert(all.problems.end(), one.problems.begin(), one.problems.end());
      if (!one.kept_note.empty()) all.kept_note = one.kept_note;
    }
    return all;
  }

  Result<EditVerdict> AcceptOne(json::Value object) {
    const Edited* item = Find(object);
    if (!item) return Unexpected(LocalError("no original object found for " + api::GoSyntax(object)));
    const json::Value& ns = std::as_const(object)["metadata"]["namespace"];
    if (item->ref.kind.namespaced && ns.string_or("") != item->ref.ns)
      return Unexpected(LocalError("the namespace from the provided object \"" +
                                   std::string(ns.string_or("")) + "\" does not match the namespace \"" +
                                   item->ref.ns + "\". You must pass '--namespace=" +
                                   std::string(ns.string_or("")) + "' to perform this operation."));
    if (flags_.save_config) object = WithLastApplied(object);
    session_.Record(object);
    if (object == item->object) {
      FLYBALL_TRY(Say(*item, object, "skipped"));
      return EditVerdict{};
    }
    return Send(*item, object);
  }

  Result<EditVerdict> Send(const Edited& item, const json::Value& object) {
    const KindRef& kind = item.ref.kind;
    const api::KindInfo* builtin = api::FindBuiltinKind(kind.group, kind.version, kind.kind);
    const json::Value patch =
        ThreeWayPatch(builtin ? builtin->type : nullptr, item.object, object, item.object);
    if (patch.Find("apiVersion") || patch.Find("kind") || patch.FindPath({"metadata", "name"}))
      return Unexpected(LocalError(kIdentityChanged));
    json::Value sorted = patch;
    SortKeysDeep(sorted);
    if (flags_.output_patch) session_.out() << "Patch: " << json::Write(sorted) << "\n";
    FLYBALL_ASSIGN(const std::string validation, ValidationOf(flags_.validate));
    RestRequest request;
    request.verb = "PATCH";
    request.path = kind.Path(item.ref.ns, item.ref.name, flags_.subresource);
    request.content_type = builtin ? kStrategicPatch : kMergePatch;
    request.body = json::Write(patch);
    request.Query("fieldManager", flags_.field_manager).Query("fieldValidation", validation);
    const auto patched = session_.Call(std::move(request));
    if (!patched) return VerdictOn(session_, item, patched.error());
    FLYBALL_TRY(Say(item, *patched, "edited"));
    return EditVerdict{};
  }

  // By its UID, which nobody edits.
  const Edited* Find(const json::Value& object) const {
    for (const Edited& item : items_)
      if (item.object["metadata"]["uid"] == object["metadata"]["uid"]) return &item;
    return nullptr;
  }

  Status Say(const Edited& item, const json::Value& object, const char* what) {
    if (printer_) return PrintTo(session_.out(), *printer_, object);
    session_.out() << DisplayName(item.ref.kind, item.ref.name) << " " << what << "\n";
    return {};
  }

  Session& session_;
  const EditFlags& flags_;
  const std::vector<Edited> items_;
  std::unique_ptr<ObjectPrinter> printer_;
};

Status RunEdit(Session& session, const EditFlags& flags) {
  const std::string& output = flags.print.output;
  if (!output.empty() && output != "yaml" && output != "json" && output != "kyaml")
    return Unexpected(LocalError("unable to match a printer suitable for the output format \"" + output +
                                 "\", allowed formats are: json,kyaml,yaml"));
  FLYBALL_ASSIGN(const auto refs, NamedObjects(session, flags.files, flags.args, {.all = true}));
  if (session.failed()) return {};  // nothing is edited if something cannot be read
  std::vector<Edited> items;
  for (const ObjectRef& ref : refs) {
    RestRequest request;
    request.path = ref.kind.Path(ref.ns, ref.name, flags.subresource);
    FLYBALL_ASSIGN(json::Value object, session.Call(std::move(request)));
    if (json::Value* metadata = object.Find("metadata")) metadata->as_object().Erase("managedFields");
    items.push_back({ref, std::move(object)});
  }
  if (items.empty()) return Unexpected(LocalError("edit cancelled, no objects found"));
  return EditSession(session, flags, std::move(items)).Run();
}

}  // namespace

void AddEditCommand(const Command& root) {
  auto flags = std::make_shared<EditFlags>();
  const Command command = root.Sub("edit", "Change an object in an editor ($KUBE_EDITOR, $EDITOR)",
                                   "KUBE_EDITOR=nano flyball edit deploy/web");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  AddPrintFlags(command, &flags->print);
  command.Option("--field-manager", &flags->field_manager, "Who is said to own the fields");
  command.Option("--validate", &flags->validate, "strict, warn or ignore: what to do about unknown fields",
                 "strict");
  command.Option("--subresource", &flags->subresource, "status or resize instead of the object itself");
  command.Flag("--save-config", &flags->save_config, "Remember what is written, for a later apply");
  command.Flag("--output-patch", &flags->output_patch, "Print the patch that is sent");
  command.Flag("--windows-line-endings", &flags->windows, "Lines end with CR LF in the editor");
  command.RecordFlag();
  RunVerb(command, [flags](Session& session) { return RunEdit(session, *flags); });
}

}  // namespace flyball::cli
