#include "cli/kubectl/apply/editor.h"

#include <fstream>

#include "base/files/temporary_folder.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/external_program.h"

namespace flyball::cli {
namespace {

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

}  // namespace

Status EditText(Session& session, const std::string& original,
                const std::function<Status(const std::string&)>& accept) {
  FLYBALL_ASSIGN(TemporaryFolder folder, TemporaryFolder::Make());
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
    const Status accepted = accept(text);
    if (accepted) return {};
    problem = ErrorText(accepted.error());
  }
}

}  // namespace flyball::cli
