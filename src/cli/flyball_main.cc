#include <CLI/CLI.hpp>

#include "cli/apiserver_command.h"
#include "cli/signals.h"

int main(int argc, char** argv) {
  flyball::cli::BlockStopSignals();
  CLI::App app{"The Kubernetes control plane as one program.", "flyball"};
  app.require_subcommand(1);
  int exit_code = 0;
  flyball::cli::AddApiServerCommand(app, exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
