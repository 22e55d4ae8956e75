#include <filesystem>
#include <iostream>
#include <memory>

#include "base/files/durable_file.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/verbs/config_file.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

struct EntryFlags {
  std::vector<std::string> args;
  std::string server, tls_server_name, certificate_authority, proxy_url, insecure;
  std::string client_certificate, client_key, token, username, password, exec_command, exec_api_version;
  std::string exec_interactive_mode, exec_cluster_info;
  std::string auth_provider;
  std::vector<std::string> exec_args, exec_env, auth_provider_args;
  bool embed = false, set_raw_bytes = false;
};

// The lists of a kubeconfig: the field of an entry and kubectl's word for it.
struct EntryKind {
  const char *list, *field, *word;
};
constexpr EntryKind kClusterEntries{"clusters", "cluster", "cluster"};
constexpr EntryKind kUserEntries{"users", "user", "user"};
constexpr EntryKind kContextEntries{"contexts", "context", "context"};

json::Value* FindEntry(json::Value& config, const EntryKind& kind, std::string_view name) {
  if (json::Value* list = config.Find(kind.list); list && list->is_array())
    for (json::Value& entry : list->as_array())
      if (std::as_const(entry)["name"].string_or("") == name) return &entry;
  return nullptr;
}

json::Value& EntryFor(json::Value& config, const EntryKind& kind, const std::string& name) {
  if (!FindEntry(config, kind, name)) {
    if (!std::as_const(config)[kind.list].is_array()) config[kind.list] = json::Array();
    config[kind.list].as_array().emplace_back(json::Object{{kind.field, json::Object()}, {"name", name}});
  }
  json::Value& value = (*FindEntry(config, kind, name))[kind.field];
  if (!value.is_object()) value = json::Object();
  return value;
}

void SetText(json::Value& entry, const char* field, const std::string& value) {
  if (!value.empty()) entry[field] = value;
}

// A file by its path, or its content if it is to be embedded.
Status SetFile(json::Value& entry, const std::string& field, const std::string& path, bool embed) {
  if (path.empty()) return {};
  if (embed) {
    FLYBALL_ASSIGN(const std::string content, ReadFile(path));
    entry[field + "-data"] = net::Base64Encode(content);
    entry.as_object().Erase(field);
  } else {
    entry[field] = std::filesystem::absolute(path).string();
    entry.as_object().Erase(field + "-data");
  }
  return {};
}

Error WrongArguments(const Invocation& invocation, const EntryFlags& flags) {
  std::string words;
  for (const std::string& word : flags.args) words += (words.empty() ? "" : " ") + word;
  return LocalError("Unexpected args: [" + words + "]\nSee '" + invocation.path +
                    " -h' for help and examples");
}

Status SetCluster(const Invocation& invocation, const EntryFlags& flags) {
  if (flags.args.size() != 1) return Unexpected(WrongArguments(invocation, flags));
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    json::Value& entry = EntryFor(config, kClusterEntries, flags.args[0]);
    SetText(entry, "server",
            invocation.connection.server.empty() ? flags.server : invocation.connection.server);
    SetText(entry, "tls-server-name", flags.tls_server_name);
    SetText(entry, "proxy-url", flags.proxy_url);
    FLYBALL_TRY(SetFile(entry, "certificate-authority", flags.certificate_authority, flags.embed));
    if (!flags.insecure.empty()) entry["insecure-skip-tls-verify"] = flags.insecure == "true";
    std::cout << "Cluster \"" << flags.args[0] << "\" set.\n";
    return {};
  });
}

void SetExec(json::Value& entry, const EntryFlags& flags) {
  if (flags.exec_command.empty()) return;
  json::Value& exec = entry["exec"];
  exec["command"] = flags.exec_command;
  SetText(exec, "apiVersion", flags.exec_api_version);
  SetText(exec, "interactiveMode", flags.exec_interactive_mode);
  if (!flags.exec_cluster_info.empty()) exec["provideClusterInfo"] = flags.exec_cluster_info == "true";
  for (const std::string& argument : flags.exec_args) {
    if (!std::as_const(exec)["args"].is_array()) exec["args"] = json::Array();
    exec["args"].as_array().emplace_back(argument);
  }
  for (const std::string& variable : flags.exec_env) {
    if (!std::as_const(exec)["env"].is_array()) exec["env"] = json::Array();
    const std::size_t equals = variable.find('=');
    exec["env"].as_array().emplace_back(
        json::Object{{"name", variable.substr(0, equals)},
                     {"value", equals == std::string::npos ? "" : variable.substr(equals + 1)}});
  }
}

// key=value sets an argument of the provider, key- removes it.
Status SetAuthProvider(json::Value& entry, const EntryFlags& flags) {
  const json::Value& now = std::as_const(entry)["auth-provider"];
  if (!flags.auth_provider.empty() && now["name"].string_or("") != flags.auth_provider)
    entry["auth-provider"] = json::Object{{"config", json::Object()}, {"name", flags.auth_provider}};
  if (!std::as_const(entry)["auth-provider"].is_object()) return {};
  json::Value& config = entry["auth-provider"]["config"];
  if (!config.is_object()) config = json::Object();
  for (const std::string& argument : flags.auth_provider_args) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos && argument.ends_with('-'))
      config.as_object().Erase(argument.substr(0, argument.size() - 1));
    else if (equals == std::string::npos || equals == 0)
      return Unexpected(LocalError("unexpected auth-provider-arg format: " + argument));
    else
      config[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return {};
}

Status SetCredentials(const Invocation& invocation, const EntryFlags& flags) {
  if (flags.args.size() != 1) return Unexpected(WrongArguments(invocation, flags));
  const std::string& mode = flags.exec_interactive_mode;
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable" && mode != "Always")
    return Unexpected(LocalError("invalid interactive mode type, can be only IfAvailable, Never, Always"));
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    json::Value& entry = EntryFor(config, kUserEntries, flags.args[0]);
    FLYBALL_TRY(SetFile(entry, "client-certificate", flags.client_certificate, flags.embed));
    FLYBALL_TRY(SetFile(entry, "client-key", flags.client_key, flags.embed));
    SetText(entry, "token", flags.token);
    SetText(entry, "username", flags.username);
    SetText(entry, "password", flags.password);
    FLYBALL_TRY(SetAuthProvider(entry, flags));
    SetExec(entry, flags);
    std::cout << "User \"" << flags.args[0] << "\" set.\n";
    return {};
  });
}

Status DeleteEntry(const Invocation& invocation, const EntryFlags& flags, const EntryKind& kind) {
  if (flags.args.size() != 1) return Unexpected(WrongArguments(invocation, flags));
  const std::string& name = flags.args[0];
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    const std::string path = ConfigFilePath(invocation);
    if (!FindEntry(config, kind, name))
      return Unexpected(
          LocalError(std::string("cannot delete ") + kind.word + " " + name + ", not in " + path));
    if (kind.list == kContextEntries.list && std::as_const(config)["current-context"].string_or("") == name)
      std::cerr
          << "warning: this removed your active context, use \"kubectl config use-context\" to select a "
             "different one\n";
    json::Array kept;
    for (const json::Value& entry : Elements(std::as_const(config)[kind.list]))
      if (entry["name"].string_or("") != name) kept.push_back(entry);
    config[kind.list] = std::move(kept);
    std::cout << "deleted " << kind.word << " " << name << " from " << path << "\n";
    return {};
  });
}

Status PrintNames(const Invocation& invocation, const EntryKind& kind) {
  FLYBALL_ASSIGN(const json::Value config, ReadConfigFile(invocation));
  std::cout << "NAME\n";
  for (const json::Value& entry : Elements(config[kind.list]))
    std::cout << entry["name"].string_or("") << "\n";
  return {};
}

Status RenameContext(const Invocation& invocation, const EntryFlags& flags) {
  if (flags.args.size() != 2) return Unexpected(WrongArguments(invocation, flags));
  const std::string &from = flags.args[0], &to = flags.args[1];
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    const std::string path = ConfigFilePath(invocation);
    json::Value* entry = FindEntry(config, kContextEntries, from);
    if (!entry)
      return Unexpected(LocalError("cannot rename the context \"" + from + "\", it's not in " + path));
    if (FindEntry(config, kContextEntries, to))
      return Unexpected(LocalError("cannot rename the context \"" + from + "\", the context \"" + to +
                                   "\" already exists in " + path));
    (*entry)["name"] = to;
    if (std::as_const(config)["current-context"].string_or("") == from) config["current-context"] = to;
    std::cout << "Context \"" << from << "\" renamed to \"" << to << "\".\n";
    return {};
  });
}

// The value that "clusters.NAME.server" names, and the field in it; made if it is not there. Names may have
// dots: the longest entry that fits is taken.
Result<std::pair<json::Value*, std::string>> Locate(json::Value& config, const std::string& property) {
  for (const EntryKind& kind : {kClusterEntries, kUserEntries, kContextEntries}) {
    const std::string prefix = std::string(kind.list) + ".";
    if (!property.starts_with(prefix)) continue;
    const std::string rest = property.substr(prefix.size());
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string::npos) return std::pair<json::Value*, std::string>(nullptr, rest);
    return std::pair(&EntryFor(config, kind, rest.substr(0, dot)), rest.substr(dot + 1));
  }
  if (property.find('.') == std::string::npos) return std::pair(&config, property);
  return Unexpected(LocalError("unable to locate path " + property));
}

// What stands in the file for a field of bytes: --set-raw-bytes gives the bytes, else their base64 is given.
Result<std::string> DataValue(const std::string& value, bool raw) {
  if (raw) return net::Base64Encode(value);
  std::string text = value;
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });  // as Go's decoder
  const auto bytes = net::Base64Decode(text);
  if (!bytes) return Unexpected(LocalError(bytes.error().message()));
  return net::Base64Encode(*bytes);
}

Status SetProperty(const Invocation& invocation, const EntryFlags& flags) {
  if (flags.args.size() != 2) return Unexpected(WrongArguments(invocation, flags));
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    FLYBALL_ASSIGN(const auto place, Locate(config, flags.args[0]));
    if (!place.first) return Unexpected(LocalError("cannot set a whole entry: name a field of it"));
    const std::string& value = flags.args[1];
    json::Value& field = (*place.first)[place.second];
    if (place.second.ends_with("-data")) {
      FLYBALL_ASSIGN(field, DataValue(value, flags.set_raw_bytes));
    } else if (place.second.starts_with("insecure-")) {
      field = value == "true";
    } else {
      field = value;
    }
    std::cout << "Property \"" << flags.args[0] << "\" set.\n";
    return {};
  });
}

Status UnsetProperty(const Invocation& invocation, const EntryFlags& flags) {
  if (flags.args.size() != 1) return Unexpected(WrongArguments(invocation, flags));
  return ChangeConfigFile(invocation, [&](json::Value& config) -> Status {
    FLYBALL_ASSIGN(const auto place, Locate(config, flags.args[0]));
    if (place.first) {
      if (place.second == "current-context")
        config["current-context"] = "";
      else
        place.first->as_object().Erase(place.second);
    } else {
      for (const EntryKind& kind : {kClusterEntries, kUserEntries, kContextEntries}) {
        if (!flags.args[0].starts_with(std::string(kind.list) + ".")) continue;
        json::Array kept;
        for (const json::Value& entry : Elements(std::as_const(config)[kind.list]))
          if (entry["name"].string_or("") != place.second) kept.push_back(entry);
        config[kind.list] = std::move(kept);
      }
    }
    std::cout << "Property \"" << flags.args[0] << "\" unset.\n";
    return {};
  });
}

using EntryVerb = std::function<Status(const Invocation&, const EntryFlags&)>;

Command AddEntryVerb(const Command& config, const std::string& name, const std::string& summary,
                     const std::string& args, const std::shared_ptr<EntryFlags>& flags, EntryVerb verb) {
  const Command command = config.Sub(name, summary, "flyball config " + name + " " + LowerCase(args));
  command.Args(args, &flags->args, "What to change");
  command.RunLocal([flags, verb = std::move(verb), invocation = &command.invocation()] {
    const Status done = verb(*invocation, *flags);
    if (!done) std::cerr << ErrorText(done.error()) << "\n";
    return done ? 0 : 1;
  });
  return command;
}

void AddSetters(const Command& config) {
  auto cluster = std::make_shared<EntryFlags>();
  AddEntryVerb(config, "set-cluster", "Change a cluster, or make one", "NAME", cluster, &SetCluster)
      .Option("--server", &cluster->server, "Its address")
      .Option("--tls-server-name", &cluster->tls_server_name, "Name that its certificate must have")
      .Option("--certificate-authority", &cluster->certificate_authority, "File of its CA certificate")
      .Option("--proxy-url", &cluster->proxy_url, "Proxy to reach it")
      .Option("--insecure-skip-tls-verify", &cluster->insecure, "Do not check its certificate", "true")
      .Flag("--embed-certs", &cluster->embed, "Copy files into the kubeconfig");
  auto user = std::make_shared<EntryFlags>();
  AddEntryVerb(config, "set-credentials", "Change a user, or make one", "NAME", user, &SetCredentials)
      .Option("--client-certificate", &user->client_certificate, "File of the certificate")
      .Option("--client-key", &user->client_key, "File of the key")
      .Option("--token", &user->token, "Bearer token")
      .Option("--username", &user->username, "Name for basic authentication")
      .Option("--password", &user->password, "Password for basic authentication")
      .Option("--exec-command", &user->exec_command, "Program that gives credentials")
      .Option("--exec-api-version", &user->exec_api_version, "API version of that program")
      .Option("--exec-interactive-mode", &user->exec_interactive_mode,
              "Whether that program may ask: Never, IfAvailable or Always")
      .Option("--exec-provide-cluster-info", &user->exec_cluster_info, "Tell that program of the cluster",
              "true")
      .List("--exec-arg", &user->exec_args, "Arguments of that program")
      .Option("--exec-env", &user->exec_env, "NAME=value for that program; may be repeated")
      .Option("--auth-provider", &user->auth_provider,
              "Name of an auth provider; kept for clients that know it, which this one does not")
      .List("--auth-provider-arg", &user->auth_provider_args, "key=value for the provider; key- removes it")
      .Flag("--embed-certs", &user->embed, "Copy files into the kubeconfig");
}

}  // namespace

void AddConfigEntryCommands(const Command& config) {
  AddSetters(config);
  const auto fresh = [] { return std::make_shared<EntryFlags>(); };
  for (const EntryKind& kind : {kClusterEntries, kUserEntries, kContextEntries})
    AddEntryVerb(config, std::string("delete-") + kind.word, std::string("Delete a ") + kind.word, "NAME",
                 fresh(), [kind](const Invocation& invocation, const EntryFlags& flags) {
                   return DeleteEntry(invocation, flags, kind);
                 });
  for (const EntryKind& kind : {kClusterEntries, kUserEntries})
    AddEntryVerb(
        config, std::string("get-") + kind.list, std::string("List the ") + kind.list, "", fresh(),
        [kind](const Invocation& invocation, const EntryFlags&) { return PrintNames(invocation, kind); });
  AddEntryVerb(config, "rename-context", "Give a context another name", "OLD NEW", fresh(), &RenameContext);
  auto set = fresh();
  AddEntryVerb(config, "set", "Set one field of the kubeconfig", "PROPERTY VALUE", set, &SetProperty)
      .Flag("--set-raw-bytes", &set->set_raw_bytes, "Write data as it is, not in base64");
  AddEntryVerb(config, "unset", "Remove one field of the kubeconfig", "PROPERTY", fresh(), &UnsetProperty);
}

}  // namespace flyball::cli
