#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"

namespace flyball::cli {

// list, status, stop, start, use, and `cluster` with these and logs and delete below it.
void AddClusterCommands(const Command& root);

// `logs NAME` and `delete NAME` are kubectl's verbs, too: they mean the cluster if there is one of that name,
// alone.
std::vector<std::string> WithClusterWords(std::vector<std::string> arguments);

// What this machine can and cannot do, with the cure for each.
void AddDoctorCommand(const Command& root);

}  // namespace flyball::cli
