// The commands that show what happens in a cluster.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

// trace
void AddTraceCommand(const Command& root);
// Makes `top` without a command below it a live view of the cluster.
void AddLiveView(const Command& top);

}  // namespace flyball::cli
