#include "base/observe/fatal.h"
#include "cli/command/command.h"
#include "cli/kubectl/verbs.h"
#include "cli/programs/apiserver_command.h"
#include "cli/programs/cel_command.h"
#include "cli/programs/component_commands.h"
#include "cli/programs/store_command.h"
#include "cli/programs/up_command.h"

namespace {

using namespace flyball::cli;

using Adder = void (*)(const Command& root);

void AddSection(const Command& root, const char* title, std::initializer_list<Adder> adders) {
  for (const Adder add : adders) add(root);
  root.EndSection(title);
}

void AddServers(const Command& root) {
  AddUpCommand(root.app(), root.invocation().exit_code);
  AddApiServerCommand(root.app(), root.invocation().exit_code);
  AddComponentCommands(root.app(), root.invocation().exit_code);
}

void DefineProgram(const Command& root) {
  AddSection(root, "Run a cluster", {&AddServers, &AddStoreCommands});
  AddSection(root, "Look",
             {&AddGetCommand, &AddDescribeCommand, &AddLogsCommand, &AddEventsCommand, &AddExplainCommand});
  AddSection(root, "Change",
             {&AddApplyCommand, &AddDiffCommand, &AddCreateCommand, &AddRunCommand, &AddExposeCommand,
              &AddEditCommand, &AddReplaceCommand, &AddPatchCommand, &AddLabelCommands, &AddSetCommand,
              &AddDeleteCommand});
  AddSection(root, "Run workloads",
             {&AddScaleCommand, &AddAutoscaleCommand, &AddRolloutCommand, &AddWaitCommand});
  AddSection(root, "Ask the server and the program",
             {&AddAuthCommand, &AddDiscoveryCommands, &AddCelCommand, &AddConfigCommand, &AddVersionCommand});
}

}  // namespace

int main(int argc, char** argv) {
  flyball::InstallFatalHandlers();
  return RunProgram(argc, argv, &DefineProgram);
}
