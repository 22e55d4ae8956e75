#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

// up, apiserver, controllers, scheduler, node: the commands that run a cluster or a part of one. Their flags
// are CLI11's.
void AddServerCommands(const Command& root);

}  // namespace flyball::cli
