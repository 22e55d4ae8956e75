#include "cli/programs/apiserver_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/foreign_flags/flags_without_effect.h"
#include "cli/foreign_flags/kube_apiserver_flags.h"
#include "cli/programs/apiserver_flags.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"

namespace flyball::cli {
namespace {

int Refuse(const Error& error) {
  std::cerr << "flyball apiserver: " << error.message() << "\n";
  return 1;
}

int RunApiserver(ApiserverFlags& flags) {
  BlockStopSignals();
  if (const Status read = flags.Read(); !read) return Refuse(read.error());
  auto process = ServerProcess::Start(std::move(flags.process));
  if (!process) return Refuse(process.error());
  std::cout << "serving " << (*process)->url() << "\nkubeconfig " << (*process)->kubeconfig_path()
            << std::endl;
  WaitForStopSignal();
  (*process)->PrepareToEnd();
  return 0;
}

}  // namespace

void AddApiServerCommand(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("apiserver", "Run the API server alone, with kube-apiserver's flag names");
  auto flags = std::make_shared<ApiserverFlags>();
  flags->Define(*command);
  command->get_option("--data-dir")->required();
  command->footer(
      "Example:\n  flyball apiserver --data-dir D --secure-port 6443 --token-auth-file tokens.csv");
  const std::vector<CLI::Option*> others = AddFlagsWithoutEffect(*command, KubeApiserverFlags());
  command->callback([flags, command, others, &exit_code] {
    NameFlagsWithoutEffect(others);
    flags->process.api.flags = FlagValues(*command);
    exit_code = RunApiserver(*flags);
  });
}

}  // namespace flyball::cli
