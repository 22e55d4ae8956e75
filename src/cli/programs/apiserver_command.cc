#include "cli/programs/apiserver_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/observe/log.h"
#include "cli/foreign_flags/kube_apiserver_flags.h"
#include "cli/programs/apiserver_flags.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"

namespace flyball::cli {
namespace {

// kube-apiserver's other flags, so that its command lines work. They are not part of the help.
std::vector<CLI::Option*> AddFlagsWithoutEffect(CLI::App& command) {
  std::vector<CLI::Option*> added;
  for (const ForeignFlag& flag : KubeApiserverFlags()) {
    const std::string name = "--" + std::string(flag.name);
    if (command.get_option_no_throw(name)) continue;
    CLI::Option* option = command.add_option(name)->group("")->default_str(std::string(flag.value));
    if (flag.type == "bool") option->expected(0, 1);
    added.push_back(option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
  }
  return added;
}

void NameFlagsWithoutEffect(const std::vector<CLI::Option*>& options) {
  for (const CLI::Option* option : options)
    if (option->count() > 0) log::Warning("flag has no effect here", {{"flag", option->get_name()}});
}

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
  const std::vector<CLI::Option*> others = AddFlagsWithoutEffect(*command);
  command->callback([flags, command, others, &exit_code] {
    NameFlagsWithoutEffect(others);
    flags->process.api.flags = FlagValues(*command);
    exit_code = RunApiserver(*flags);
  });
}

}  // namespace flyball::cli
