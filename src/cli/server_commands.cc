#include "cli/server_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/programs/apiserver_command.h"
#include "cli/programs/component_commands.h"
#include "cli/programs/up_command.h"

namespace flyball::cli {
namespace {

// The commands, as CLI11 knows them.
struct ServerCommands {
  CLI::App app{"", "flyball"};
  int exit_code = 0;
  ServerCommands() {
    app.require_subcommand(1);
    AddUpCommand(app, exit_code);
    AddApiServerCommand(app, exit_code);
    AddComponentCommands(app, exit_code);
  }
};

int ExplainParseError(ServerCommands& commands, const std::string& name, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return commands.app.exit(error, std::cout, std::cerr);  // --help
  const auto unknown = commands.app.get_subcommand(name)->remaining();
  if (unknown.empty())
    std::cerr << "error: " << error.what() << "\n";
  else if (unknown[0].rfind("--", 0) == 0)
    std::cerr << "error: unknown flag: " << unknown[0].substr(0, unknown[0].find('=')) << "\n";
  else if (unknown[0].size() > 1 && unknown[0][0] == '-')
    std::cerr << "error: unknown shorthand flag: '" << unknown[0][1] << "' in " << unknown[0] << "\n";
  else
    std::cerr << "error: unexpected argument: " << unknown[0] << "\n";
  std::cerr << "See 'flyball " << name << " --help' for usage.\n";
  return 1;
}

int RunServerCommand(ServerCommands& commands, const std::string& name, std::vector<std::string> words) {
  // CLI11 takes its arguments last first.
  words.insert(words.begin(), name);
  std::reverse(words.begin(), words.end());
  try {
    commands.app.parse(words);
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(commands, name, error);
  }
  return commands.exit_code;
}

}  // namespace

void AddServerCommands(const Command& root) {
  const auto commands = std::make_shared<ServerCommands>();
  for (const CLI::App* sub : commands->app.get_subcommands({}))
    root.Foreign(sub->get_name(), sub->get_description(),
                 [commands, name = sub->get_name()](const std::vector<std::string>& words) {
                   return RunServerCommand(*commands, name, words);
                 });
}

}  // namespace flyball::cli
