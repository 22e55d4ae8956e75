#ifdef FLYBALL_MIMALLOC
#include <mimalloc.h>
#endif

#include <filesystem>

#include "base/observe/fatal.h"
#include "cli/build_commit.h"
#include "cli/clusters/cluster_commands.h"
#include "cli/command/command.h"
#include "cli/envtest/envtest_command.h"
#include "cli/envtest/etcd_program.h"
#include "cli/envtest/kube_apiserver_program.h"
#include "cli/envtest/testserver_command.h"
#include "cli/images/image_command.h"
#include "cli/kubectl/verbs.h"
#include "cli/kustomize/kustomize_command.h"
#include "cli/observe/observe_commands.h"
#include "cli/programs/cel_command.h"
#include "cli/programs/store_command.h"
#include "cli/server_commands.h"

namespace {

using namespace flyball::cli;

using Adder = void (*)(const Command& root);

void AddSection(const Command& root, const char* title, std::initializer_list<Adder> adders) {
  for (const Adder add : adders) add(root);
  root.EndSection(title);
}

// kubectl's.
void DefineVerbs(const Command& root) {
  AddSection(root, "Look",
             {&AddGetCommand, &AddDescribeCommand, &AddLogsCommand, &AddEventsCommand, &AddExplainCommand});
  AddSection(root, "Change",
             {&AddApplyCommand, &AddDiffCommand, &AddCreateCommand, &AddRunCommand, &AddExposeCommand,
              &AddEditCommand, &AddReplaceCommand, &AddPatchCommand, &AddLabelCommands, &AddSetCommand,
              &AddDeleteCommand, &AddKustomizeCommand});
  AddSection(root, "Run workloads",
             {&AddScaleCommand, &AddAutoscaleCommand, &AddRolloutCommand, &AddWaitCommand, &AddExecCommands,
              &AddCopyCommand, &AddDebugCommand, &AddProxyCommand, &AddPortForwardCommand});
  AddSection(root, "Look after nodes and certificates",
             {&AddDrainCommands, &AddTaintCommand, &AddCertificateCommand, &AddTopCommand});
  AddSection(root, "Ask the server and the program",
             {&AddAuthCommand, &AddDiscoveryCommands, &AddConfigCommand, &AddKubercCommand,
              &AddVersionCommand, &AddShellCommands});
}

void DefineProgram(const Command& root) {
  AddSection(
      root, "Run a cluster",
      {&AddServerCommands, &AddClusterCommands, &AddStoreCommands, &AddImageCommand, &AddDoctorCommand});
  AddSection(root, "Test against a cluster", {&AddTestserverCommand, &AddEnvtestCommand, &AddCelCommand});
  AddSection(root, "See what happens", {&AddTraceCommand});
  DefineVerbs(root);
}

#ifdef FLYBALL_MIMALLOC
// mimalloc makes 32 MB writable at a time by default. Where the system gives huge pages to everybody (as
// Debian does), 2 MB of them become resident for the first byte in each, and later, while the process is
// idle, all around what is used. The first 32 MB are taken before any constructor of ours runs, by those of
// the C++ library: what is in this section runs before them.
void PrepareAllocator() {
  mi_option_set(mi_option_eager_commit, 0);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeAll)() = &PrepareAllocator;
#endif

}  // namespace

int main(int argc, char** argv) {
  flyball::InstallFatalHandlers();
  flyball::SetBuild(BuildOfProgram());
  // `flyball envtest` makes links by which the program acts as another one.
  const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name == "kube-apiserver") return RunKubeApiserver(arguments);
  if (name == "etcd") return RunEtcd(arguments);
  if (name == "kubectl" || name.starts_with("kubectl-"))
    return RunProgram("kubectl", arguments, &DefineVerbs);
  return RunProgram("flyball", WithClusterWords(arguments), &DefineProgram);
}
