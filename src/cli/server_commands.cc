#include "cli/server_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/clusters/cluster_config.h"
#include "cli/network/dns_command.h"
#include "cli/network/ingress_command.h"
#include "cli/node/node_command.h"
#include "cli/programs/apiserver_command.h"
#include "cli/programs/component_commands.h"
#include "cli/service_proxy/service_proxy_command.h"
#include "cli/up/up_command.h"

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
    AddNodeCommand(app, exit_code);
    AddDnsCommand(app, exit_code);
    AddServiceProxyCommand(app, exit_code);
    AddIngressCommand(app, exit_code);
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
  if (name == "up") {
    auto configured = WithClusterConfig(std::move(words));
    if (!configured) {
      std::cerr << "flyball up: " << configured.error().message() << "\n";
      return 1;
    }
    words = std::move(*configured);
  }
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

json::Value ReferenceOfOption(const CLI::Option& option) {
  const auto& shorts = option.get_snames();
  return json::Object{{"name", option.get_lnames().front()},
                      {"shorthand", shorts.empty() ? std::string() : shorts.front()},
                      {"type", option.get_type_size() == 0 ? std::string("bool") : option.get_type_name()},
                      {"default", option.get_default_str()},
                      {"help", option.get_description()},
                      {"required", option.get_required()}};
}

json::Value ReferenceOfApp(const CLI::App& app) {
  json::Array flags;
  json::Object args{{"name", ""}, {"help", ""}};
  for (const CLI::Option* option : app.get_options())
    if (option->get_lnames().empty())
      args = {{"name", "[" + option->get_name(true) + "]"}, {"help", option->get_description()}};
    else if (option->get_lnames().front() != "help")
      flags.push_back(ReferenceOfOption(*option));
  std::string example = app.get_footer();
  if (const std::size_t at = example.find("flyball "); at != std::string::npos) example.erase(0, at);
  return json::Object{{"example", example}, {"args", std::move(args)}, {"flags", std::move(flags)}};
}

}  // namespace

void AddServerCommands(const Command& root) {
  const auto commands = std::make_shared<ServerCommands>();
  for (const CLI::App* sub : commands->app.get_subcommands({}))
    root.Foreign(
        sub->get_name(), sub->get_description(),
        [commands, name = sub->get_name()](const std::vector<std::string>& words) {
          return RunServerCommand(*commands, name, words);
        },
        [commands, sub] { return ReferenceOfApp(*sub); });
}

}  // namespace flyball::cli
