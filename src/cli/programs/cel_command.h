// `flyball cel`: compiles and evaluates an expression of Kubernetes' CEL, or checks a table of them.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddCelCommand(const Command& root);

}  // namespace flyball::cli
