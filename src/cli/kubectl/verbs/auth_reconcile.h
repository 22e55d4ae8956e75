// `auth reconcile`: roles and bindings get at least the rules and subjects that files say.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddAuthReconcileCommand(const Command& auth);

}  // namespace flyball::cli
