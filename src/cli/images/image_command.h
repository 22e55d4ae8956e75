// `flyball image`: pull, load, build, list, inspect and remove the images of a node, also while its agent
// runs.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddImageCommand(const Command& root);

}  // namespace flyball::cli
