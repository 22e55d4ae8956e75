// A text that the user changes in an editor ($KUBE_EDITOR, $EDITOR) until it is accepted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

struct EditorStyle {
  bool json = false;     // the text is JSON, which has no comments; else YAML
  bool windows = false;  // lines end with CR LF in the editor
  // What stands above the text, without the reasons why it is edited again.
  enum class Advice { kObject, kLastApplied };
  Advice advice = Advice::kObject;
};

// What became of a text that was saved.
struct EditVerdict {
  // Not empty: the editor is opened again with these lines above the text.
  std::vector<std::string> problems{};
  // Not empty: it cannot be accepted, and is kept. What is said then, on standard error, with the file's path
  // in the place of "%".
  std::string kept_note{};
};

// Opens the editor with the text and calls `accept` with what was saved, until there is nothing wrong with
// it. Ends without a call if nothing was changed. The file is kept, and its path printed, if `accept` fails.
Status EditText(Session& session, const std::string& original, const EditorStyle& style,
                const std::function<Result<EditVerdict>(const std::string&)>& accept);

}  // namespace flyball::cli
