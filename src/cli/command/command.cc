#include "cli/command/command.h"

#include <algorithm>
#include <iostream>

#include "base/values/ascii.h"
#include "cli/command/command_node.h"
#include "cli/command/plugins.h"
#include "cli/command/preferences.h"
#include "cli/command/reference.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

FlagSpec BoolFlag(bool* value, const std::string& help) {
  return {
      .type = "bool",
      .default_text = *value ? "true" : "false",
      .help = help,
      .alone = "true",
      .set = [value](const std::string& text) { *value = text == "1" || text[0] == 't' || text[0] == 'T'; }};
}

FlagSpec TextFlag(std::string* value, const std::string& help) {
  return {.default_text = *value, .help = help, .set = [value](const std::string& text) { *value = text; }};
}

FlagSpec ListFlag(std::vector<std::string>* values, const std::string& help, bool commas) {
  return {.type = commas ? "strings" : "stringArray",
          .default_text = "[]",
          .help = help,
          .set = [values, commas](const std::string& text) {
            if (!commas) return values->push_back(text);
            for (std::string& part : SplitList(text)) values->push_back(std::move(part));
          }};
}

// Known to kubectl, and without an effect here: profiles, logs of the client, compression.
void AddIgnoredFlags(FlagSet& flags) {
  const auto ignore = [](const std::string&) {};
  flags.Add("--profile",
            {.default_text = "none", .help = "Accepted; this program has no profiler", .set = ignore});
  flags.Add(
      "--profile-output",
      {.default_text = "profile.pprof", .help = "Accepted; this program has no profiler", .set = ignore});
  flags.Add("--log-flush-frequency",
            {.type = "duration", .default_text = "5s", .help = "Accepted without effect", .set = ignore});
  flags.Add("--vmodule", {.help = "Accepted without effect", .set = ignore});
  flags.Add("--match-server-version", {.type = "bool",
                                       .default_text = "false",
                                       .help = "Accepted without effect; this program works with any version",
                                       .alone = "true",
                                       .set = ignore});
}

void AddGlobalFlags(FlagSet& flags, ConnectionFlags& to) {
  flags.Add("--kubeconfig", TextFlag(&to.kubeconfig, "Path of the kubeconfig file"));
  flags.Add("--context", TextFlag(&to.context, "Context of the kubeconfig to use"));
  flags.Add("--cluster", TextFlag(&to.cluster, "Cluster of the kubeconfig to use"));
  flags.Add("--user", TextFlag(&to.user, "User of the kubeconfig to use"));
  FlagSpec ns = TextFlag(&to.ns, "Namespace of the request");
  ns.set = [&to](const std::string& text) { to.ns = text, to.ns_given = true; };
  flags.Add("-n,--namespace", std::move(ns));
  flags.Add("--as", TextFlag(&to.as, "User to impersonate"));
  flags.Add("--as-uid", TextFlag(&to.as_uid, "UID to impersonate"));
  flags.Add("--as-group", ListFlag(&to.as_groups, "Group to impersonate; may be repeated", false));
  flags.Add("--as-user-extra", ListFlag(&to.as_extra, "KEY=VALUE to impersonate; may be repeated", false));
  flags.Add("-s,--server", TextFlag(&to.server, "Address of the server"));
  flags.Add("--token", TextFlag(&to.token, "Bearer token"));
  flags.Add("--username", TextFlag(&to.username, "User name for basic authentication"));
  flags.Add("--password", TextFlag(&to.password, "Password for basic authentication"));
  flags.Add("--certificate-authority",
            TextFlag(&to.certificate_authority, "File of the server's CA certificate"));
  flags.Add("--client-certificate", TextFlag(&to.client_certificate, "File of the client's certificate"));
  flags.Add("--client-key", TextFlag(&to.client_key, "File of the client's key"));
  flags.Add("--tls-server-name",
            TextFlag(&to.tls_server_name, "Name that the server's certificate must have"));
  flags.Add("--request-timeout",
            TextFlag(&to.request_timeout, "Longest time for one request: 5s; 0 is the default"));
  flags.Add("--cache-dir", TextFlag(&to.cache_dir, "Folder for copies of what the server serves"));
  flags.Add("--insecure-skip-tls-verify", BoolFlag(&to.insecure, "Do not check the server's certificate"));
  flags.Add("--disable-compression",
            BoolFlag(&to.disable_compression, "Have the server send everything uncompressed"));
  flags.Add("--warnings-as-errors",
            BoolFlag(&to.warnings_as_errors, "Exit with 1 if the server sends warnings"));
  flags.Add("-v,--v", {.type = "int32",
                       .default_text = "0",
                       .help = "Log requests on standard error: 6 and more, with ever more detail",
                       .set = [verbosity = &to.verbosity](const std::string& text) {
                         *verbosity = static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
                       }});
  // Read before the line is parsed, too (preferences.h).
  flags.Add("--kuberc", TextFlag(&to.kuberc, "File of preferences: aliases and defaults; KUBERC=off: none"));
  AddIgnoredFlags(flags);
}

std::string Words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

int Fail(const std::string& message) {
  std::cout.flush();
  std::cerr << "error: " << message << (message.ends_with('\n') ? "" : "\n");
  return 1;
}

// The rules of the whole command line: required flags, words that are no arguments.
std::optional<std::string> UsageFault(const CommandNode& node, const ParsedArguments& parsed) {
  std::string missing;
  for (const FlagSpec& flag : node.flags.all())
    if (flag.required && !parsed.Given(flag)) missing += (missing.empty() ? "\"" : ", \"") + flag.name + "\"";
  if (!missing.empty()) return "required flag(s) " + missing + " not set";
  if (node.args_required && parsed.arguments.empty())
    return node.args_name + " is required\nSee '" + node.Path() + " --help' for usage.";
  if (!node.args && !parsed.arguments.empty() && !node.needs_sub)
    return "unknown command \"" + parsed.arguments[0] + "\" for \"" + node.Path() + "\"";
  return std::nullopt;
}

int RunFound(CommandNode& node, Invocation& invocation, const std::vector<std::string>& words) {
  std::vector<const FlagSet*> sets{&node.flags};
  if (node.parent) sets.push_back(&node.Root().flags);
  auto parsed = ParseArguments(sets, words);
  if (!parsed) return Fail(parsed.error().message() + "\nSee '" + node.Path() + " --help' for usage.");
  if (parsed->help) {
    std::cout << HelpText(node);
    return 0;
  }
  if (!node.takes_command) {
    parsed->arguments.insert(parsed->arguments.end(), parsed->after_dashes.begin(),
                             parsed->after_dashes.end());
    parsed->after_dashes.clear();
  }
  if (const auto fault = UsageFault(node, *parsed)) return Fail(*fault);
  if (!node.run) {
    if (!parsed->arguments.empty())
      return Fail("unknown command \"" + Words(parsed->arguments) + "\"\nSee '" + node.Path() +
                  " -h' for help and examples");
    std::cout << HelpText(node);
    return node.parent ? 1 : 0;
  }
  if (node.args) *node.args = parsed->arguments;
  invocation.after_dashes = parsed->after_dashes;
  invocation.has_dashes = parsed->has_dashes;
  invocation.path = node.Path();
  for (const FlagSpec* flag : parsed->given) node.given.push_back(flag->name);
  std::vector<std::string> line{node.Path()};
  line.insert(line.end(), parsed->arguments.begin(), parsed->arguments.end());
  line.insert(line.end(), parsed->after_dashes.begin(), parsed->after_dashes.end());
  invocation.command_line = Words(line) + parsed->given_text;
  invocation.stdin_in_use =
      std::any_of(node.stdin_users.begin(), node.stdin_users.end(), [](const auto& uses) { return uses(); });
  for (const auto& shortcut : node.shortcuts)
    if (shortcut()) return 0;
  return node.run();
}

int PrintHelpFor(const CommandNode& root, std::vector<std::string> words) {
  const CommandNode& node = FindCommand(root, words);
  if (words.empty() && node.foreign) return node.foreign({"--help"});
  if (!words.empty()) {
    std::cerr << "Unknown help topic "
              << "[`" << words[0] << "`]\n";
    std::cerr << HelpText(root);
    return 1;
  }
  std::cout << HelpText(node);
  return 0;
}

void DefineOwnCommands(const Command& root, CommandNode& tree) {
  auto words = std::make_shared<std::vector<std::string>>();
  const Command help = root.Sub("help", "Help about any command", "flyball help get");
  help.Args("[COMMAND]", words.get(), "Which command");
  help.RunLocal([words, &tree] { return PrintHelpFor(tree, *words); });
  root.Sub("options", "Print the flags that every command takes").Hidden().RunLocal([&tree] {
    std::cout << GlobalOptionsText(tree);
    return 0;
  });
}

}  // namespace

Command Command::Sub(const std::string& names, const std::string& summary, const std::string& example) const {
  auto all = SplitText(names, ',');
  auto node = std::make_unique<CommandNode>();
  node->name = all[0];
  node->aliases.assign(all.begin() + 1, all.end());
  node->summary = summary;
  node->example = example;
  node->parent = node_;
  node_->children.push_back(std::move(node));
  return Command(node_->children.back().get(), invocation_);
}

void Command::Foreign(const std::string& name, const std::string& summary,
                      std::function<int(const std::vector<std::string>&)> run,
                      std::function<json::Value()> reference) const {
  CommandNode* const node = Sub(name, summary).node_;
  node->foreign = std::move(run);
  node->foreign_reference = std::move(reference);
}

const Command& Command::RequireSub() const {
  node_->needs_sub = true;
  return *this;
}
const Command& Command::Hidden() const {
  node_->hidden = true;
  return *this;
}
const Command& Command::SuggestedFor(std::vector<std::string> words) const {
  node_->suggested_for = std::move(words);
  return *this;
}
const Command& Command::TakesCommand() const {
  node_->takes_command = true;
  return *this;
}

const Command& Command::ReadsStdinIf(std::function<bool()> reads) const {
  node_->stdin_users.push_back(std::move(reads));
  return *this;
}

void Command::EndSection(const std::string& title) const {
  for (const auto& child : node_->children)
    if (child->section.empty()) child->section = title;
}

const Command& Command::Flag(const std::string& names, bool* value, const std::string& help) const {
  node_->flags.Add(names, BoolFlag(value, help));
  return *this;
}
const Command& Command::Option(const std::string& names, std::string* value, const std::string& help) const {
  node_->flags.Add(names, TextFlag(value, help));
  return *this;
}
const Command& Command::Option(const std::string& names, std::string* value, const std::string& help,
                               const std::string& alone) const {
  FlagSpec flag = TextFlag(value, help);
  flag.alone = alone;
  node_->flags.Add(names, std::move(flag));
  return *this;
}
const Command& Command::Option(const std::string& names, std::vector<std::string>* values,
                               const std::string& help) const {
  node_->flags.Add(names, ListFlag(values, help, false));
  return *this;
}
const Command& Command::List(const std::string& names, std::vector<std::string>* values,
                             const std::string& help) const {
  node_->flags.Add(names, ListFlag(values, help, true));
  return *this;
}
const Command& Command::Option(const std::string& names, std::optional<std::int64_t>* value,
                               const std::string& help) const {
  node_->flags.Add(names,
                   {.type = "int64",
                    .default_text = *value ? std::to_string(**value) : "0",
                    .help = help,
                    .set = [value](const std::string& text) { *value = std::stoll(text, nullptr, 0); }});
  return *this;
}
const Command& Command::Option(const std::string& names, int* value, const std::string& help) const {
  node_->flags.Add(names,
                   {.type = "int32",
                    .default_text = std::to_string(*value),
                    .help = help,
                    .set = [value](const std::string& text) { *value = std::stoi(text, nullptr, 0); }});
  return *this;
}
const Command& Command::Required(const std::string& name) const {
  if (FlagSpec* flag = node_->flags.Find(std::string_view(name).substr(name.starts_with("--") ? 2 : 0)))
    flag->required = true;
  else
    node_->args_required = true;
  return *this;
}
const Command& Command::Args(const std::string& name, std::vector<std::string>* values,
                             const std::string& help) const {
  node_->args_name = name;
  node_->args_help = help;
  node_->args = values;
  return *this;
}

const Command& Command::RecordFlag() const {
  FlagSpec flag = BoolFlag(&invocation_->record, "Keep this command line in the object's change cause");
  flag.deprecated = "--record will be removed in the future";
  node_->flags.Add("--record", std::move(flag));
  return *this;
}
bool Command::Given(const std::string& flag) const {
  return std::find(node_->given.begin(), node_->given.end(), flag) != node_->given.end();
}

std::string Command::PathOf(std::vector<std::string> words) const {
  const CommandNode& found = FindCommand(node_->Root(), words);
  return found.parent ? found.Path() : "";
}

void Command::RunLocal(std::function<int()> verb) const {
  node_->run = std::move(verb);
}
void Command::Before(std::function<bool()> shortcut) const {
  node_->shortcuts.push_back(std::move(shortcut));
}

int RunProgram(const std::string& name, const std::vector<std::string>& arguments,
               const std::function<void(const Command&)>& define) {
  CommandNode root;
  root.name = name;
  root.summary = name == "kubectl"
                     ? "kubectl controls Kubernetes clusters"
                     : "The Kubernetes control plane as one program, and the verbs to use it with";
  auto invocation = std::make_shared<Invocation>();
  invocation->program = name;
  AddGlobalFlags(root.flags, invocation->connection);
  const Command tree(&root, invocation);
  define(tree);
  DefineOwnCommands(tree, root);

  if (!arguments.empty() && (arguments[0] == "__complete" || arguments[0] == "__completeNoDesc")) {
    std::cout << CompletionText(root, {arguments.begin() + 1, arguments.end()}, invocation->complete);
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "__reference") {
    std::cout << json::WritePretty(ReferenceOf(root), 2) << "\n";
    return 0;
  }
  const auto preferred = WithPreferences(root, arguments);
  if (!preferred) return Fail(preferred.error().message());
  invocation->plugin_policy = preferred->plugin_policy;
  std::vector<std::string> words = preferred->words;
  const CommandNode& found = FindCommand(root, words);
  if (found.foreign) return found.foreign(words);
  const auto first = FirstWord({&found.flags, &root.flags}, words);
  if (first && (&found == &root || found.Path() == "kubectl create")) RunPlugin(preferred->words);
  if (first && &found == &root)
    return Fail("unknown command \"" + words[*first] + "\" for \"" + name + "\"" +
                Suggestions(root, words[*first]));
  return RunFound(const_cast<CommandNode&>(found), *invocation, words);
}

}  // namespace flyball::cli
