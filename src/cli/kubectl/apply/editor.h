// A text that the user changes in an editor ($KUBE_EDITOR, $EDITOR) until it is accepted.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

// Opens the editor with the text, calls `accept` with what was saved, and opens it again with the reason
// above the text if that fails. Ends without a call if nothing was changed.
Status EditText(Session& session, const std::string& original,
                const std::function<Status(const std::string&)>& accept);

}  // namespace flyball::cli
