#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/error_text.h"
#include "cli/session.h"

namespace flyball::cli {
namespace {

std::vector<std::string> Split(const std::string& names) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t comma; (comma = names.find(',', begin)) != std::string::npos; begin = comma + 1)
    out.push_back(names.substr(begin, comma - begin));
  out.push_back(names.substr(begin));
  return out;
}

void AddConnectionFlags(CLI::App& app, ConnectionFlags& flags) {
  const std::string group = "Connection";
  app.add_option("--kubeconfig", flags.kubeconfig, "Path of the kubeconfig file")->group(group);
  app.add_option("--context", flags.context, "Context of the kubeconfig to use")->group(group);
  app.add_option("-n,--namespace", flags.ns, "Namespace of the request")->group(group);
  app.add_option("--as", flags.as, "User to impersonate")->group(group);
  app.add_option("--as-group", flags.as_groups, "Group to impersonate; may be repeated")
      ->allow_extra_args(false)
      ->group(group);
}

int Report(const Status& status) {
  if (status) return 0;
  const std::string text = ErrorText(status.error());
  if (!text.empty()) std::cerr << text << "\n";
  return 1;
}

}  // namespace

Command Command::Sub(const std::string& names, const std::string& summary, const std::string& example) const {
  const auto all = Split(names);
  CLI::App* sub = app_->add_subcommand(all[0], summary);
  for (std::size_t i = 1; i < all.size(); ++i) sub->alias(all[i]);
  if (!example.empty()) sub->footer("Example:\n  " + example);
  return Command(sub, invocation_);
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

void Command::Run(std::function<Status(Session&)> verb) const {
  Connection();
  app_->callback([app = app_, invocation = invocation_, verb = std::move(verb)] {
    if (!app->get_subcommands().empty()) return;  // the subcommand has run
    for (const auto& [owner, shortcut] : invocation->shortcuts)
      if (owner == app && shortcut()) return;
    auto session = Session::Open(*invocation);
    invocation->exit_code = session ? Report(verb(**session)) : Report(Unexpected(session.error()));
    if (session && (*session)->failed()) invocation->exit_code = 1;
  });
}

void Command::RunLocal(std::function<int()> verb) const {
  app_->callback([invocation = invocation_, verb = std::move(verb)] { invocation->exit_code = verb(); });
}

int RunProgram(int argc, char** argv, const std::function<void(const Command&)>& define) {
  CLI::App app{"The Kubernetes control plane as one program, and the verbs to use it with.", "flyball"};
  app.footer(
      "Start a cluster:  flyball up\nThen:             flyball get nodes\nHelp of a verb:   flyball get "
      "--help");
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
    return app.exit(error, std::cout, std::cerr) == 0 ? 0 : 1;
  }
  return invocation->exit_code;
}

}  // namespace flyball::cli
