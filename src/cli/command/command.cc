#include "cli/command/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

void AddConnectionFlags(CLI::App& app, ConnectionFlags& flags) {
  const std::string group = "Connection";
  app.add_option("--kubeconfig", flags.kubeconfig, "Path of the kubeconfig file")->group(group);
  app.add_option("--context", flags.context, "Context of the kubeconfig to use")->group(group);
  app.add_option("-n,--namespace", flags.ns, "Namespace of the request")->group(group);
  app.add_option("--as", flags.as, "User to impersonate")->group(group);
  app.add_option("--as-group", flags.as_groups, "Group to impersonate; may be repeated")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("-s,--server", flags.server, "Address of the server")->group(group);
  app.add_option("--token", flags.token, "Bearer token")->group(group);
  app.add_option("--certificate-authority", flags.certificate_authority,
                 "File of the server's CA certificate")
      ->group(group);
  app.add_option("--client-certificate", flags.client_certificate, "File of the client's certificate")
      ->group(group);
  app.add_option("--client-key", flags.client_key, "File of the client's key")->group(group);
  app.add_option("--tls-server-name", flags.tls_server_name, "Name that the server's certificate must have")
      ->group(group);
  app.add_option("--request-timeout", flags.request_timeout,
                 "Longest time for one request: 5s; 0 is the default")
      ->group(group);
  app.add_flag("--insecure-skip-tls-verify", flags.insecure, "Do not check the server's certificate")
      ->group(group);
}

// The command the arguments got to.
const CLI::App& Innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : Innermost(*parsed.back());
}

std::string FullName(const CLI::App& app) {
  return (app.get_parent() ? FullName(*app.get_parent()) + " " : "") + app.get_name();
}

// How many letters have to be added, removed or replaced to make one word the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

void PrintUnknownCommand(const CLI::App& app, const std::string& word) {
  constexpr std::size_t kSimilar = 2;
  std::cerr << "error: unknown command \"" << word << "\" for \"" << FullName(app) << "\"\n";
  std::string similar;
  for (const CLI::App* sub : app.get_subcommands({}))
    if (EditDistance(sub->get_name(), word) <= kSimilar) similar += "\t" + sub->get_name() + "\n";
  if (!similar.empty()) std::cerr << "\nDid you mean this?\n" << similar << "\n";
  std::cerr << "See '" << FullName(app) << " --help' for the commands there are.\n";
}

// kubectl's words where it has some, and always what to do.
int ExplainParseError(CLI::App& root, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return root.exit(error, std::cout, std::cerr);  // --help
  const CLI::App& app = Innermost(root);
  const auto unknown = app.remaining();
  if (unknown.empty() && dynamic_cast<const CLI::RequiredError*>(&error) &&
      !app.get_subcommands({}).empty()) {
    std::cout << root.help();
    return &app == &root ? 0 : 1;
  }
  if (!unknown.empty() && unknown[0].rfind("-", 0) != 0 && !app.get_subcommands({}).empty()) {
    PrintUnknownCommand(app, unknown[0]);
    return 1;
  }
  if (unknown.empty())
    std::cerr << "error: " << error.what() << "\n";
  else if (unknown[0].rfind("--", 0) == 0)
    std::cerr << "error: unknown flag: " << unknown[0].substr(0, unknown[0].find('=')) << "\n";
  else if (unknown[0].size() > 1 && unknown[0][0] == '-')
    std::cerr << "error: unknown shorthand flag: '" << unknown[0][1] << "' in " << unknown[0] << "\n";
  else
    std::cerr << "error: unexpected argument: " << unknown[0] << "\n";
  std::cerr << "See '" << FullName(app) << " --help' for usage.\n";
  return 1;
}

}  // namespace

Command Command::Sub(const std::string& names, const std::string& summary, const std::string& example) const {
  const auto all = SplitText(names, ',');
  // Once one is chosen, the names of the others are words like any other.
  if (app_->get_require_subcommand_max() == 0) app_->require_subcommand(0, 1);
  CLI::App* sub = app_->add_subcommand(all[0], summary);
  for (std::size_t i = 1; i < all.size(); ++i) sub->alias(all[i]);
  if (!example.empty()) sub->footer("Example:\n  " + example);
  return Command(sub, invocation_);
}

const Command& Command::RequireSub() const {
  app_->require_subcommand(1);
  return *this;
}

void Command::EndSection(const std::string& title) const {
  const std::string none = CLI::App().get_group();
  for (CLI::App* sub : app_->get_subcommands({}))
    if (sub->get_group() == none) sub->group(title);
}

const Command& Command::Flag(const std::string& names, bool* value, const std::string& help) const {
  app_->add_flag(names, *value, help);
  return *this;
}
const Command& Command::Option(const std::string& names, std::string* value, const std::string& help) const {
  app_->add_option(names, *value, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}
const Command& Command::Option(const std::string& names, std::vector<std::string>* values,
                               const std::string& help) const {
  app_->add_option(names, *values, help)->allow_extra_args(false);
  return *this;
}
const Command& Command::Option(const std::string& names, std::optional<std::int64_t>* value,
                               const std::string& help) const {
  app_->add_option_function<std::int64_t>(
      names, [value](const std::int64_t& n) { *value = n; }, help);
  return *this;
}
const Command& Command::Option(const std::string& names, int* value, const std::string& help) const {
  app_->add_option(names, *value, help)->capture_default_str();
  return *this;
}
const Command& Command::Required(const std::string& name) const {
  app_->get_option(name)->required();
  return *this;
}
const Command& Command::Args(const std::string& name, std::vector<std::string>* values,
                             const std::string& help) const {
  app_->add_option(name, *values, help)->allow_extra_args(true);
  return *this;
}

const Command& Command::Connection() const {
  AddConnectionFlags(*app_, invocation_->connection);
  return *this;
}

void Command::RunLocal(std::function<int()> verb) const {
  app_->callback([app = app_, invocation = invocation_, verb = std::move(verb)] {
    if (!app->get_subcommands().empty()) return;
    for (const auto& [owner, shortcut] : invocation->shortcuts)
      if (owner == app && shortcut()) return;
    invocation->exit_code = verb();
  });
}

int RunProgram(const std::string& name, int argc, char** argv,
               const std::function<void(const Command&)>& define) {
  CLI::App app{"The Kubernetes control plane as one program, and the verbs to use it with.", name};
  app.footer(
      "A first tour:\n"
      "  flyball up                                   # a whole cluster; prints what to type next\n"
      "  export KUBECONFIG=$PWD/flyball-data/kubeconfig\n"
      "  flyball create deployment hello --image=host -- sh -c 'while true; do date; sleep 1; done'\n"
      "  flyball get deploy,rs,pods -o wide\n"
      "  flyball logs deploy/hello -f\n"
      "\nThe verbs take kubectl's arguments. 'flyball COMMAND --help' says more, with an example.");
  app.require_subcommand(1);
  auto invocation = std::make_shared<Invocation>();
  AddConnectionFlags(app, invocation->connection);
  define(Command(&app, invocation));

  // CLI11 takes its arguments last first. What follows "--" is a container's command and not for it.
  std::vector<std::string> args(argv + 1, argv + argc);
  if (auto dashes = std::find(args.begin(), args.end(), "--"); dashes != args.end()) {
    invocation->has_dashes = true;
    invocation->after_dashes.assign(dashes + 1, args.end());
    args.erase(dashes, args.end());
  }
  std::reverse(args.begin(), args.end());
  try {
    app.parse(args);
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error);
  }
  return invocation->exit_code;
}

}  // namespace flyball::cli
