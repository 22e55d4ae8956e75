#include "cli/apiserver_command.h"
#include "cli/command.h"
#include "cli/component_commands.h"
#include "cli/store_command.h"
#include "cli/up_command.h"
#include "cli/verbs.h"

namespace {

using namespace flyball::cli;

void DefineProgram(const Command& root) {
  AddUpCommand(root.app(), root.invocation().exit_code);
  AddApiServerCommand(root.app(), root.invocation().exit_code);
  AddComponentCommands(root.app(), root.invocation().exit_code);
  AddStoreCommands(root);
  for (const auto add :
       {&AddGetCommand, &AddDescribeCommand, &AddCreateCommand, &AddRunCommand, &AddExposeCommand,
        &AddApplyCommand, &AddReplaceCommand, &AddPatchCommand, &AddLabelCommands, &AddDeleteCommand,
        &AddScaleCommand, &AddSetCommand, &AddRolloutCommand, &AddLogsCommand, &AddWaitCommand,
        &AddDiscoveryCommands, &AddAuthCommand, &AddVersionCommand})
    add(root);
}

}  // namespace

int main(int argc, char** argv) {
  return RunProgram(argc, argv, &DefineProgram);
}
