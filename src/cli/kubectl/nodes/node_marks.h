// Marks nodes as unschedulable and back, for cordon, uncordon and drain.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

extern const KindRef kNodes;

// The nodes that the names or the selector choose. The errors are kubectl's; `verb` is for its usage line.
Result<std::vector<json::Value>> ChosenNodes(Session& session, const std::vector<std::string>& names,
                                             const std::string& selector, const std::string& verb);

// Sets spec.unschedulable on each and prints what happened; failures are reported and the others go on.
void MarkNodes(Session& session, const std::vector<json::Value>& nodes, bool unschedulable,
               const std::string& dry_run);

}  // namespace flyball::cli
