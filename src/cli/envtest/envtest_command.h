// `flyball envtest DIR`: what controller-runtime's envtest looks for in $KUBEBUILDER_ASSETS.
#pragma once

#include "cli/command/command.h"

namespace flyball::cli {

void AddEnvtestCommand(const Command& root);

}  // namespace flyball::cli
