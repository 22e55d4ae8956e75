#include "cli/kubectl/apply/editor.h"

#include <fstream>
#include <iterator>

#include "base/files/temporary_folder.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/external_program.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

constexpr const char* kObjectAdvice =
    "# Please edit the object below. Lines beginning with a '#' will be ignored,\n"
    "# and an empty file will abort the edit. If an error occurs while saving this file will be\n"
    "# reopened with the relevant failures.\n"
    "#\n";
constexpr const char* kLastAppliedAdvice =
    "# Please edit the 'last-applied-configuration' annotations below.\n"
    "# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.\n"
    "#\n";

std::string Header(const EditorStyle& style, const std::vector<std::string>& problems) {
  if (style.json) return {};
  std::string out = style.advice == EditorStyle::Advice::kObject ? kObjectAdvice : kLastAppliedAdvice;
  for (const std::string& problem : problems) {
    out += "# ";
    for (const char c : problem) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
    out += "\n";
  }
  return problems.empty() ? out : out + "#\n";
}

std::string WithoutComments(const std::string& text, const EditorStyle& style) {
  if (style.json) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    if (line[0] != '#') out += line;
    at = end;
  }
  return out;
}

// Two texts that describe the same object are the same.
bool Same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto one = json::ParseYaml(a), other = json::ParseYaml(b);
  return one && other && *one == *other;
}

// One file that the editor is opened with. Confined to one edit.
class EditedFile {
 public:
  EditedFile(const TemporaryFolder& folder, const EditorStyle& style)
      : folder_(folder), style_(style), name_(style.json ? "kubectl-edit.json" : "kubectl-edit.yaml") {}

  std::string path() const { return (folder_.path() / name_).string(); }
  Result<std::string> Open(const std::string& text) const {
    std::string shown;
    for (const char c : text) shown += c == '\n' && style_.windows ? std::string("\r\n") : std::string(1, c);
    FLYBALL_ASSIGN(const std::string path, folder_.Write(name_, shown));
    const std::string editor = FromEnvironment({"KUBE_EDITOR", "EDITOR"}, "vi");
    if (RunExternal(editor, {path}) != 0)
      return Unexpected(LocalError("there was a problem with the editor \"" + editor + "\""));
    std::ifstream in(path, std::ios::binary);
    std::string saved(std::istreambuf_iterator<char>(in), {});
    if (style_.windows) std::erase(saved, '\r');
    return WithoutComments(saved, style_);
  }

 private:
  const TemporaryFolder& folder_;
  const EditorStyle& style_;
  const std::string name_;
};

}  // namespace

Status EditText(Session& session, const std::string& original, const EditorStyle& style,
                const std::function<Result<EditVerdict>(const std::string&)>& accept) {
  FLYBALL_ASSIGN(TemporaryFolder folder, TemporaryFolder::Make());
  const EditedFile file(folder, style);
  const auto keep = [&](const Error& error) {
    session.err() << "A copy of your changes has been stored to \"" << file.path() << "\"\n";
    folder.Keep();
    return Unexpected(error);
  };
  std::string text = original;
  for (EditVerdict verdict;;) {
    FLYBALL_ASSIGN(const std::string edited, file.Open(Header(style, verdict.problems) + text));
    if (!verdict.problems.empty() && Same(edited, text))
      return keep(LocalError("Edit cancelled, no valid changes were saved."));
    if (Same(edited, original) || edited.find_first_not_of(" \t\n") == std::string::npos) {
      session.err() << (Same(edited, original) ? "Edit cancelled, no changes made.\n"
                                               : "Edit cancelled, saved file was empty.\n");
      return {};
    }
    text = edited;
    auto judged = accept(text);
    if (!judged) return keep(judged.error());
    verdict = std::move(*judged);
    if (!verdict.kept_note.empty()) {
      std::string note = verdict.kept_note;
      note.replace(note.find('%'), 1, file.path());
      session.err() << note << "\n";
      folder.Keep();
      return Unexpected(PrintedError());
    }
    if (verdict.problems.empty()) return {};
  }
}

}  // namespace flyball::cli
