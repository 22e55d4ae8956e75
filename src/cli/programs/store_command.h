// `flyball snapshot` and `flyball store`: care of the data folder.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddStoreCommands(const Command& root);

}  // namespace flyball::cli
