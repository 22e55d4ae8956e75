// `flyball testserver`: an API server for one test. In memory, on a free port, gone with its parent.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddTestserverCommand(const Command& root);

}  // namespace flyball::cli
