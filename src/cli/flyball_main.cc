#include <CLI/CLI.hpp>

#include "cli/apiserver_command.h"
#include "cli/component_commands.h"
#include "cli/signals.h"
#include "cli/up_command.h"

int main(int argc, char** argv) {
  flyball::cli::BlockStopSignals();
  CLI::App app{"The Kubernetes control plane as one program.", "flyball"};
  app.require_subcommand(1);
  int exit_code = 0;
  flyball::cli::AddUpCommand(app, exit_code);
  flyball::cli::AddApiServerCommand(app, exit_code);
  flyball::cli::AddComponentCommands(app, exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
