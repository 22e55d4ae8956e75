#include <fstream>
#include <memory>

#include "api/schema/schema.h"
#include "base/files/temporary_folder.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/three_way.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/external_program.h"
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
};

constexpr const char* kAdvice =
    "# Please edit the object below. Lines beginning with a '#' will be ignored,\n"
    "# and an empty file will abort the edit. If an error occurs while saving this file will be\n"
    "# reopened with the relevant failures.\n"
    "#\n";

std::string Commented(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return out + "\n#\n";
}

std::string WithoutComments(std::istream& in) {
  std::string text, line;
  while (std::getline(in, line))
    if (line.empty() || line[0] != '#') text += line + "\n";
  return text;
}

Result<std::string> LetEdit(const TemporaryFolder& folder, const std::string& text) {
  FLYBALL_ASSIGN(const std::string path, folder.Write("edit.yaml", text));
  const std::string editor = FromEnvironment({"KUBE_EDITOR", "EDITOR"}, "vi");
  if (RunExternal(editor, {path}) != 0)
    return Unexpected(LocalError("there was a problem with the editor \"" + editor +
                                 "\"; KUBE_EDITOR or EDITOR says which to use"));
  std::ifstream in(path, std::ios::binary);
  return WithoutComments(in);
}

// The user's changes as a patch.
Status SendEdit(Session& session, const ObjectRef& ref, const json::Value& before, const std::string& text) {
  auto after = json::ParseYaml(text);
  if (!after) return Unexpected(LocalError("not valid YAML: " + after.error().message()));
  if (!after->is_object()) return Unexpected(LocalError("not an object"));
  const api::KindInfo* builtin = api::FindBuiltinKind(ref.kind.group, ref.kind.version, ref.kind.kind);
  const json::Value patch = ThreeWayPatch(builtin ? builtin->type : nullptr, before, *after, before);
  FLYBALL_TRY(session.Patch(ref.kind, ref.ns, ref.name, builtin ? kStrategicPatch : kMergePatch, patch,
                            "kubectl-edit"));
  return {};
}

// Opens the editor until the server accepts the saved text, or the text is unchanged.
Status EditOne(Session& session, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter({.output = "yaml"}));
  FLYBALL_ASSIGN(TemporaryFolder folder, TemporaryFolder::Make());
  FLYBALL_ASSIGN(const std::string original, printer->Print(object));
  FLYBALL_ASSIGN(const json::Value before, json::ParseYaml(original));
  std::string text = original, problem;
  for (;;) {
    const std::string header = kAdvice + (problem.empty() ? "" : Commented(problem));
    FLYBALL_ASSIGN(const std::string edited, LetEdit(folder, header + text));
    if (edited == text && !problem.empty()) {
      folder.Keep();
      return Unexpected(LocalError("Edit cancelled, no valid changes were saved: " + problem));
    }
    if (edited == original || edited.find_first_not_of(" \n") == std::string::npos) {
      session.err() << (edited == original ? "Edit cancelled, no changes made.\n"
                                           : "Edit cancelled, saved file was empty.\n");
      return {};
    }
    text = edited;
    Status sent = SendEdit(session, ref, before, text);
    if (sent) break;
    problem = ErrorText(sent.error());
  }
  session.out() << DisplayName(ref.kind, ref.name) << " edited\n";
  return {};
}

Status RunEdit(Session& session, const EditFlags& flags) {
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, flags.args, {}));
  for (const ObjectRef& object : objects) FLYBALL_TRY(EditOne(session, object));
  return {};
}

}  // namespace

void AddEditCommand(const Command& root) {
  auto flags = std::make_shared<EditFlags>();
  const Command command = root.Sub("edit", "Change an object in an editor ($KUBE_EDITOR, $EDITOR)",
                                   "KUBE_EDITOR=nano flyball edit deploy/web");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  RunVerb(command, [flags](Session& session) { return RunEdit(session, *flags); });
}

}  // namespace flyball::cli
