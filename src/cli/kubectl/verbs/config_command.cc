#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "base/files/durable_file.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/verbs.h"
#include "cli/kubectl/verbs/config_file.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct ConfigFlags {
  std::vector<std::string> args;
  std::string output, user, cluster, ns;
  bool current = false, no_headers = false;
};

Status PrintContexts(const Invocation& invocation, const ConfigFlags& flags) {
  FLYBALL_ASSIGN(const json::Value config, ReadConfigFile(invocation));
  TabWriter writer = TableWriter();
  if (flags.output != "name" && !flags.no_headers)
    writer.Write("CURRENT\tNAME\tCLUSTER\tAUTHINFO\tNAMESPACE\n");
  for (const json::Value& entry : Elements(config["contexts"])) {
    const std::string name(entry["name"].string_or(""));
    if (!flags.args.empty() && std::find(flags.args.begin(), flags.args.end(), name) == flags.args.end())
      continue;
    const auto text = [&](const char* field) { return std::string(entry["context"][field].string_or("")); };
    if (flags.output == "name")
      writer.Write(name + "\n");
    else
      writer.Write((entry["name"] == config["current-context"] ? "*\t" : "\t") + name + "\t" +
                   text("cluster") + "\t" + text("user") + "\t" + text("namespace") + "\n");
  }
  std::cout << writer.Take();
  return {};
}

Status PrintCurrentContext(const Invocation& invocation, const ConfigFlags&) {
  FLYBALL_ASSIGN(const json::Value config, ReadConfigFile(invocation));
  if (config["current-context"].string_or("").empty())
    return Unexpected(LocalError("current-context is not set"));
  std::cout << config["current-context"].as_string() << "\n";
  return {};
}

// The context of the entry; null if there is none with that name.
json::Value* FindContext(json::Value& config, std::string_view name) {
  if (json::Value* contexts = config.Find("contexts"); contexts && contexts->is_array())
    for (json::Value& entry : contexts->as_array())
      if (std::as_const(entry)["name"].string_or("") == name) return &entry["context"];
  return nullptr;
}

Status UseContext(const Invocation& invocation, const ConfigFlags& flags) {
  if (flags.args.empty())
    return Unexpected(LocalError("you must specify a context name\nSee '" + invocation.path +
                                 " -h' for help and examples"));
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    if (!FindContext(config, flags.args[0]))
      return Unexpected(LocalError("no context exists with the name: \"" + flags.args[0] + "\""));
    config["current-context"] = flags.args[0];
    std::cout << "Switched to context \"" << flags.args[0] << "\".\n";
    return {};
  });
}

Status SetContext(const Invocation& invocation, const ConfigFlags& flags) {
  if (flags.current == !flags.args.empty())
    return Unexpected(LocalError(flags.current ? "you cannot specify both a context name and --current"
                                               : "you must specify a non-empty context name or --current"));
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    const std::string name =
        flags.current ? std::string(std::as_const(config)["current-context"].string_or("")) : flags.args[0];
    if (name.empty()) return Unexpected(LocalError("no current context is set"));
    json::Value* context = FindContext(config, name);
    const bool made = !context;
    if (made) {
      if (!std::as_const(config)["contexts"].is_array()) config["contexts"] = json::Array();
      config["contexts"].as_array().emplace_back(json::Object{{"context", json::Object()}, {"name", name}});
      context = FindContext(config, name);
    }
    if (!flags.cluster.empty()) (*context)["cluster"] = flags.cluster;
    if (!flags.user.empty()) (*context)["user"] = flags.user;
    if (invocation.connection.ns_given && invocation.connection.ns.empty())
      context->as_object().Erase("namespace");
    else if (invocation.connection.ns_given)
      (*context)["namespace"] = invocation.connection.ns;
    std::cout << "Context \"" << name << "\" " << (made ? "created" : "modified") << ".\n";
    return {};
  });
}

void Define(const Command& command, const std::shared_ptr<ConfigFlags>& flags,
            Status (*run)(const Invocation&, const ConfigFlags&)) {
  command.RunLocal([flags, run, invocation = &command.invocation()] {
    const Status done = run(*invocation, *flags);
    if (!done) std::cerr << ErrorText(done.error()) << "\n";
    return done ? 0 : 1;
  });
}

}  // namespace

std::string ConfigFilePath(const Invocation& invocation) {
  const std::string& given = invocation.connection.kubeconfig;
  if (!given.empty()) return given;
  const std::string list = FromEnvironment({"KUBECONFIG"}, FromEnvironment({"HOME"}, "") + "/.kube/config");
  return list.substr(0, list.find(':'));
}

Result<json::Value> ReadConfigFile(const Invocation& invocation) {
  const std::string path = ConfigFilePath(invocation);
  std::ifstream in(path, std::ios::binary);
  if (!in) return json::Value(json::Object{{"apiVersion", "v1"}, {"kind", "Config"}});
  auto config = json::ParseYaml(std::string(std::istreambuf_iterator<char>(in), {}));
  if (config && config->is_null()) return json::Value(json::Object{{"apiVersion", "v1"}, {"kind", "Config"}});
  if (!config || !config->is_object()) return Unexpected(LocalError("no valid kubeconfig: " + path));
  return config;
}

Status ChangeConfigFile(const Invocation& invocation, const std::function<Status(json::Value&)>& change) {
  FLYBALL_ASSIGN(json::Value config, ReadConfigFile(invocation));
  FLYBALL_TRY(change(config));
  const std::string path = ConfigFilePath(invocation);
  std::error_code ignored;  // The write below says what is wrong.
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  if (const Status written = WriteFileDurably(path, json::WriteYaml(config)); !written)
    return Unexpected(LocalError("cannot write the kubeconfig: " + written.error().message()));
  return {};
}

void AddConfigCommand(const Command& root) {
  const Command config =
      root.Sub("config", "Look at and change the kubeconfig file",
               "flyball config view\n  flyball config set-context --current --namespace=web");
  config.RequireSub();
  auto flags = std::make_shared<ConfigFlags>();
  AddConfigViewCommand(config);
  const Command contexts = config.Sub("get-contexts", "List the contexts", "flyball config get-contexts");
  contexts.Args("NAME", &flags->args, "Only these");
  contexts.Option("-o,--output", &flags->output, "name");
  contexts.Flag("--no-headers", &flags->no_headers, "Leave out the line of headers");
  Define(contexts, flags, &PrintContexts);
  Define(config.Sub("current-context", "Say which context is used", "flyball config current-context"), flags,
         &PrintCurrentContext);
  const Command use =
      config.Sub("use-context", "Use another context from now on", "flyball config use-context dev");
  use.Args("NAME", &flags->args, "Which");
  Define(use, flags, &UseContext);
  const Command set = config.Sub("set-context", "Change a context, or make one",
                                 "flyball config set-context --current --namespace=web");
  set.Args("NAME", &flags->args, "Which; or --current");
  set.Flag("--current", &flags->current, "The one that is used");
  set.Option("--cluster", &flags->cluster, "Its cluster");
  set.Option("--user", &flags->user, "Its user");
  Define(set, flags, &SetContext);
  AddConfigEntryCommands(config);
}

}  // namespace flyball::cli
