// `cluster-info dump`: what helps to find a fault: objects, events and logs of namespaces.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddClusterDumpCommand(const Command& info);

}  // namespace flyball::cli
