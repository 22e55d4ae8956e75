#include <algorithm>
#include <memory>

#include "base/files/durable_file.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

struct NetworkCreatorFlags {
  CreateOptions options;
  std::vector<std::string> args, rules, annotations, tcp, files;
  std::string ingress_class, default_backend, external_name;
  std::string certificate, key, server = "https://index.docker.io/v1/", user, password, email;
};
using NetworkCreatorFlagsPtr = std::shared_ptr<NetworkCreatorFlags>;

Command BeginNetwork(const Command& parent, const std::string& names, const std::string& summary,
                     const std::string& example, const NetworkCreatorFlagsPtr& flags) {
  const Command command = parent.Sub(names, summary, example);
  command.Args("NAME", &flags->args, "Name of the new object");
  flags->options.AddTo(command);
  return command;
}

// "service:port", where the port is a number or a name.
Result<json::Value> BackendOf(const std::string& text) {
  const auto parts = SplitText(text, ':');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty())
    return Unexpected(LocalError("backend service " + text + " does not match the format <service>:<port>"));
  json::Value backend;
  backend["service"]["name"] = parts[0];
  const bool number = parts[1].find_first_not_of("0123456789") == std::string::npos;
  if (number)
    backend["service"]["port"]["number"] = std::stoi(parts[1]);
  else
    backend["service"]["port"]["name"] = parts[1];
  return backend;
}

// host/path*=service:port[,tls[=secret]]
struct IngressRule {
  std::string host, path, path_type, backend;
  bool tls = false;
  std::string secret;
};
Result<IngressRule> ParseRule(const std::string& text) {
  const Error wrong = LocalError(
      "rule " + text + " is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]");
  const std::size_t equals = text.find('='), slash = text.find('/');
  if (equals == std::string::npos || slash == std::string::npos || slash > equals) return Unexpected(wrong);
  IngressRule rule;
  rule.host = text.substr(0, slash);
  rule.path = text.substr(slash, equals - slash);
  rule.path_type = "Exact";
  if (rule.path.ends_with('*')) {
    rule.path.pop_back();
    rule.path_type = "Prefix";
  }
  std::string rest = text.substr(equals + 1);
  if (const std::size_t comma = rest.find(','); comma != std::string::npos) {
    const std::string tls = rest.substr(comma + 1);
    rest.resize(comma);
    if (tls != "tls" && !tls.starts_with("tls=")) return Unexpected(wrong);
    rule.tls = true;
    rule.secret = tls.size() > 4 ? tls.substr(4) : "";
  }
  rule.backend = rest;
  return rule;
}

// Rules of one host are one rule, secrets of several hosts one entry, in the order given.
json::Value& HostEntry(json::Array& list, const std::string& host) {
  for (json::Value& entry : list)
    if (std::as_const(entry)["host"].string_or("") == host) return entry;
  list.emplace_back(json::Object());
  if (!host.empty()) list.back()["host"] = host;
  list.back()["http"]["paths"] = json::Array();
  return list.back();
}

void AddTls(json::Array& list, const IngressRule& rule) {
  for (json::Value& entry : list) {
    if (std::as_const(entry)["secretName"].string_or("") != rule.secret) continue;
    if (!rule.host.empty()) entry["hosts"].as_array().emplace_back(rule.host);
    return;
  }
  json::Value entry = json::Object();
  if (!rule.host.empty()) entry["hosts"] = json::Array{rule.host};
  if (!rule.secret.empty()) entry["secretName"] = rule.secret;
  list.push_back(std::move(entry));
}

Result<json::Value> NewIngress(const NetworkCreatorFlags& flags, const std::string& name) {
  json::Value object = NewObject("networking.k8s.io/v1", "Ingress", name);
  for (const std::string& annotation : flags.annotations) {
    const std::size_t equals = annotation.find('=');
    if (equals == std::string::npos)
      return Unexpected(
          LocalError("annotation " + annotation + " is invalid and should be in format key=[value]"));
    object["metadata"]["annotations"][annotation.substr(0, equals)] = annotation.substr(equals + 1);
  }
  json::Value& spec = object["spec"];
  spec = json::Object();
  if (!flags.ingress_class.empty()) spec["ingressClassName"] = flags.ingress_class;
  if (!flags.default_backend.empty()) {
    FLYBALL_ASSIGN(spec["defaultBackend"], BackendOf(flags.default_backend));
  }
  json::Array rules, tls;
  for (const std::string& text : flags.rules) {
    FLYBALL_ASSIGN(const IngressRule rule, ParseRule(text));
    json::Value path;
    FLYBALL_ASSIGN(path["backend"], BackendOf(rule.backend));
    path["path"] = rule.path;
    path["pathType"] = rule.path_type;
    HostEntry(rules, rule.host)["http"]["paths"].as_array().push_back(std::move(path));
    if (rule.tls) AddTls(tls, rule);
  }
  if (!rules.empty()) spec["rules"] = std::move(rules);
  if (!tls.empty()) spec["tls"] = std::move(tls);
  object["status"]["loadBalancer"] = json::Object();
  return object;
}

Result<std::string> ReadPem(const std::string& path) {
  auto text = ReadFile(path);
  if (!text)
    return Unexpected(
        LocalError("Cannot read file " + path + ", open " + path + ": no such file or directory"));
  return text;
}

Result<json::Value> NewTlsSecret(const NetworkCreatorFlags& flags, const std::string& name) {
  if (flags.key.empty() || flags.certificate.empty())
    return Unexpected(LocalError("key and cert must be specified"));
  FLYBALL_ASSIGN(const std::string certificate, ReadPem(flags.certificate));
  FLYBALL_ASSIGN(const std::string key, ReadPem(flags.key));
  json::Value object = NewObject("v1", "Secret", name);
  object["data"]["tls.crt"] = net::Base64Encode(certificate);
  object["data"]["tls.key"] = net::Base64Encode(key);
  object["type"] = "kubernetes.io/tls";
  return object;
}

Result<json::Value> NewRegistrySecret(const NetworkCreatorFlags& flags, const std::string& name) {
  json::Value object = NewObject("v1", "Secret", name);
  std::string content;
  if (!flags.files.empty()) {
    const std::string& source = flags.files[0];
    const std::size_t equals = source.find('=');
    FLYBALL_ASSIGN(content, ReadFile(equals == std::string::npos ? source : source.substr(equals + 1)));
  } else {
    if (flags.user.empty() || flags.password.empty() || flags.server.empty())
      return Unexpected(
          LocalError("either --from-file or the combination of --docker-username, --docker-password and "
                     "--docker-server is required"));
    json::Object entry{{"username", flags.user}, {"password", flags.password}};
    if (!flags.email.empty()) entry.Set("email", flags.email);
    entry.Set("auth", net::Base64Encode(flags.user + ":" + flags.password));
    content = json::Write(json::Object{{"auths", json::Object{{flags.server, std::move(entry)}}}});
  }
  object["data"][".dockerconfigjson"] = net::Base64Encode(content);
  object["type"] = "kubernetes.io/dockerconfigjson";
  return object;
}

Result<json::Value> NewExternalName(const NetworkCreatorFlags& flags, const std::string& name) {
  json::Value object = NewObject("v1", "Service", name);
  object["metadata"]["labels"]["app"] = name;
  object["spec"]["externalName"] = flags.external_name;
  json::Array ports;
  for (const std::string& text : flags.tcp) {
    const auto parts = SplitText(text, ':');
    if (parts[0].empty() || parts[0].find_first_not_of("0123456789") != std::string::npos)
      return Unexpected(LocalError("port must be a number: " + text));
    const std::string& target = parts.size() > 1 ? parts[1] : parts[0];
    json::Object port{{"name", parts.size() > 1 ? parts[0] + "-" + target : parts[0]},
                      {"port", std::stoi(parts[0])},
                      {"protocol", "TCP"}};
    if (target.find_first_not_of("0123456789") == std::string::npos)
      port.Set("targetPort", std::stoi(target));
    else
      port.Set("targetPort", target);
    ports.emplace_back(std::move(port));
  }
  if (!ports.empty()) object["spec"]["ports"] = std::move(ports);
  object["spec"]["selector"]["app"] = name;
  object["spec"]["type"] = "ExternalName";
  object["status"]["loadBalancer"] = json::Object();
  return object;
}

void RunCreator(const Command& command, const NetworkCreatorFlagsPtr& flags,
                Result<json::Value> (*make)(const NetworkCreatorFlags&, const std::string&)) {
  RunVerb(command, [flags, make](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Value object, make(*flags, name));
    return CreateObject(session, flags->options, std::move(object));
  });
}

}  // namespace

void AddNetworkCreators(const Command& create) {
  auto flags = std::make_shared<NetworkCreatorFlags>();
  const Command command =
      BeginNetwork(create, "ingress,ing", "Create an Ingress",
                   "flyball create ingress web --rule='web.example/*=web:80,tls=cert'", flags);
  command.Option("--class", &flags->ingress_class, "Class of the ingress");
  command.Option("--rule", &flags->rules, "host/path=service:port[,tls[=secret]]; may be repeated");
  command.Option("--default-backend", &flags->default_backend, "service:port for everything else");
  command.Option("--annotation", &flags->annotations, "key=value; may be repeated");
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    if (flags->rules.empty() && flags->default_backend.empty())
      return Unexpected(
          LocalError("not enough information provided: every ingress has to either specify a "
                     "default-backend (which catches all traffic) or a list of rules (which catch "
                     "specific paths)"));
    FLYBALL_ASSIGN(json::Value object, NewIngress(*flags, name));
    return CreateObject(session, flags->options, std::move(object));
  });
}

void AddSecretKinds(const Command& secret) {
  auto tls = std::make_shared<NetworkCreatorFlags>();
  const Command tls_command = BeginNetwork(secret, "tls", "From a certificate and its key",
                                           "flyball create secret tls web --cert=web.crt --key=web.key", tls);
  tls_command.Option("--cert", &tls->certificate, "File of the certificate");
  tls_command.Option("--key", &tls->key, "File of the key");
  tls->options.AddHashFlag(tls_command);
  RunCreator(tls_command, tls, &NewTlsSecret);
  auto registry = std::make_shared<NetworkCreatorFlags>();
  const Command registry_command = BeginNetwork(
      secret, "docker-registry", "Credentials of a registry",
      "flyball create secret docker-registry r --docker-username=u --docker-password=p", registry);
  registry_command.Option("--docker-server", &registry->server, "Address of the registry");
  registry_command.Option("--docker-username", &registry->user, "Name");
  registry_command.Option("--docker-password", &registry->password, "Password");
  registry_command.Option("--docker-email", &registry->email, "Mail address");
  registry_command.List("--from-file", &registry->files, "A file of Docker's configuration instead");
  registry->options.AddHashFlag(registry_command);
  RunCreator(registry_command, registry, &NewRegistrySecret);
}

void AddExternalName(const Command& service) {
  auto flags = std::make_shared<NetworkCreatorFlags>();
  const Command command =
      BeginNetwork(service, "externalname", "Another name for a host",
                   "flyball create service externalname db --external-name=db.example", flags);
  command.Option("--external-name", &flags->external_name, "The host").Required("--external-name");
  command.List("--tcp", &flags->tcp, "port[:target port]; may be repeated");
  RunCreator(command, flags, &NewExternalName);
}

}  // namespace flyball::cli
