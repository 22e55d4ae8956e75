#include <filesystem>

#include "base/observe/fatal.h"
#include "cli/command/command.h"
#include "cli/envtest/envtest_command.h"
#include "cli/envtest/etcd_program.h"
#include "cli/envtest/kube_apiserver_program.h"
#include "cli/envtest/testserver_command.h"
#include "cli/images/image_command.h"
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

// kubectl's.
void DefineVerbs(const Command& root) {
  AddSection(root, "Look",
             {&AddGetCommand, &AddDescribeCommand, &AddLogsCommand, &AddEventsCommand, &AddExplainCommand});
  AddSection(root, "Change",
             {&AddApplyCommand, &AddDiffCommand, &AddCreateCommand, &AddRunCommand, &AddExposeCommand,
              &AddEditCommand, &AddReplaceCommand, &AddPatchCommand, &AddLabelCommands, &AddSetCommand,
              &AddDeleteCommand});
  AddSection(root, "Run workloads",
             {&AddScaleCommand, &AddAutoscaleCommand, &AddRolloutCommand, &AddWaitCommand, &AddExecCommands,
              &AddPortForwardCommand});
  AddSection(root, "Look after nodes and certificates",
             {&AddDrainCommands, &AddTaintCommand, &AddCertificateCommand});
  AddSection(root, "Ask the server and the program",
             {&AddAuthCommand, &AddDiscoveryCommands, &AddCelCommand, &AddConfigCommand, &AddVersionCommand});
}

void DefineProgram(const Command& root) {
  AddSection(root, "Run a cluster", {&AddServers, &AddStoreCommands, &AddImageCommand});
  AddSection(root, "Test against a cluster", {&AddTestserverCommand, &AddEnvtestCommand});
  DefineVerbs(root);
}

}  // namespace

int main(int argc, char** argv) {
  flyball::InstallFatalHandlers();
  // `flyball envtest` makes links by which the program acts as another one.
  const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name == "kube-apiserver") return RunKubeApiserver(arguments);
  if (name == "etcd") return RunEtcd(arguments);
  if (name == "kubectl") return RunProgram(name, argc, argv, &DefineVerbs);
  return RunProgram("flyball", argc, argv, &DefineProgram);
}
