// `kustomize DIR`: prints or writes what a kustomization describes. Needs no server.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddKustomizeCommand(const Command& root);

}  // namespace flyball::cli
