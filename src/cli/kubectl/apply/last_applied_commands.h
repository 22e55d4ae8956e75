// `apply view-last-applied`, `set-last-applied` and `edit-last-applied`: the manifest that client-side apply
// remembers in an annotation.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddLastAppliedCommands(const Command& apply);

}  // namespace flyball::cli
