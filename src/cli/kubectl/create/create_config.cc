#include <fstream>
#include <iterator>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/resource_args.h"
#include "net/tls/pki.h"

namespace flyball::cli {

json::Value NewObject(std::string_view api_version, std::string_view kind, const std::string& name) {
  json::Value object;
  object["apiVersion"] = api_version;
  object["kind"] = kind;
  object["metadata"]["creationTimestamp"] = nullptr;
  object["metadata"]["name"] = name;
  return object;
}

Result<std::string> OneName(const Session& session, const std::vector<std::string>& args) {
  if (args.size() != 1)
    return Unexpected(session.UsageError("exactly one NAME is required, got " + std::to_string(args.size())));
  return args[0];
}

Result<json::Object> ParsePairs(const std::string& text) {
  json::Object out;
  if (text.empty()) return out;
  for (const std::string& pair : SplitText(text, ',')) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return Unexpected(LocalError("unexpected \"" + pair + "\", expected key=value"));
    out.Set(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return out;
}

namespace {

struct CreateConfigFlags {
  CreateOptions options;
  std::vector<std::string> args, literals, files, tcp, scopes;
  std::string type, hard, value, description, cluster_ip, preemption = "PreemptLowerPriority";
  bool global_default = false;
};
using CreateConfigFlagsPtr = std::shared_ptr<CreateConfigFlags>;

Command Begin(const Command& create, const std::string& names, const std::string& summary,
              const std::string& example, const CreateConfigFlagsPtr& flags) {
  const Command command = create.Sub(names, summary, example);
  command.Args("NAME", &flags->args, "Name of the new object");
  flags->options.AddTo(command);
  return command;
}

// From --from-literal=key=value and --from-file=[key=]path.
Result<json::Object> DataOf(const CreateConfigFlags& flags) {
  json::Object data;
  for (const std::string& literal : flags.literals) {
    const std::size_t equals = literal.find('=');
    if (equals == std::string::npos)
      return Unexpected(LocalError("invalid literal source " + literal + ", expected key=value"));
    data.Set(literal.substr(0, equals), literal.substr(equals + 1));
  }
  for (const std::string& source : flags.files) {
    const std::size_t equals = source.find('=');
    const std::string path = equals == std::string::npos ? source : source.substr(equals + 1);
    const std::string key =
        equals == std::string::npos ? path.substr(path.rfind('/') + 1) : source.substr(0, equals);
    std::ifstream in(path, std::ios::binary);
    if (!in) return Unexpected(LocalError("error reading " + path + ": no such file or directory"));
    data.Set(key, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return data;
}

void AddSimple(const Command& create, const std::string& names, const char* kind,
               const std::string& summary) {
  auto flags = std::make_shared<CreateConfigFlags>();
  const Command command =
      Begin(create, names, summary, "flyball create " + names.substr(0, names.find(',')) + " demo", flags);
  RunVerb(command, [flags, kind](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    json::Value object = NewObject("v1", kind, name);
    if (std::string_view(kind) == "Namespace") {
      object["spec"] = json::Object();
      object["status"] = json::Object();
    }
    return CreateObject(session, flags->options, std::move(object));
  });
}

void AddConfigMap(const Command& create) {
  auto flags = std::make_shared<CreateConfigFlags>();
  const Command command = Begin(create, "configmap,cm", "Create a ConfigMap",
                                "flyball create configmap settings --from-literal=a=1", flags);
  command.Option("--from-literal", &flags->literals, "key=value; may be repeated");
  command.Option("--from-file", &flags->files, "[key=]path; may be repeated");
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Object data, DataOf(*flags));
    json::Value object = NewObject("v1", "ConfigMap", name);
    if (!data.empty()) object["data"] = std::move(data);
    return CreateObject(session, flags->options, std::move(object));
  });
}

void AddSecret(const Command& create) {
  const Command secret = create.Sub("secret", "Create a Secret");
  secret.RequireSub();
  AddSecretKinds(secret);
  auto flags = std::make_shared<CreateConfigFlags>();
  const Command command = Begin(secret, "generic", "From literals and files",
                                "flyball create secret generic db --from-literal=password=x", flags);
  command.Option("--from-literal", &flags->literals, "key=value; may be repeated");
  command.Option("--from-file", &flags->files, "[key=]path; may be repeated");
  command.Option("--type", &flags->type, "Type of the secret; Opaque if absent");
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Object data, DataOf(*flags));
    for (auto& [key, value] : data) value = net::Base64Encode(value.as_string());
    json::Value object = NewObject("v1", "Secret", name);
    if (!data.empty()) object["data"] = std::move(data);
    if (!flags->type.empty()) object["type"] = flags->type;
    return CreateObject(session, flags->options, std::move(object));
  });
}

Result<json::Array> PortsOf(const std::vector<std::string>& tcp) {
  json::Array ports;
  for (const std::string& text : tcp) {
    const std::size_t colon = text.find(':');
    const std::string port = text.substr(0, colon);
    const std::string target = colon == std::string::npos ? port : text.substr(colon + 1);
    if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos)
      return Unexpected(LocalError("port must be a number: " + text));
    json::Object entry{{"name", colon == std::string::npos ? port : port + "-" + target},
                       {"port", std::stoi(port)},
                       {"protocol", "TCP"}};
    if (target.find_first_not_of("0123456789") == std::string::npos)
      entry.Set("targetPort", std::stoi(target));
    else
      entry.Set("targetPort", target);
    ports.emplace_back(std::move(entry));
  }
  return ports;
}

void AddService(const Command& create) {
  const Command service = create.Sub("service,svc", "Create a Service");
  service.RequireSub();
  AddExternalName(service);
  for (const auto& [verb, type] : {std::pair("clusterip", "ClusterIP"), std::pair("nodeport", "NodePort"),
                                   std::pair("loadbalancer", "LoadBalancer")}) {
    auto flags = std::make_shared<CreateConfigFlags>();
    const Command command =
        Begin(service, verb, std::string("Of type ") + type,
              std::string("flyball create service ") + verb + " web --tcp=80:8080", flags);
    command.Option("--tcp", &flags->tcp, "port[:target port]; may be repeated");
    command.Option("--clusterip", &flags->cluster_ip, "A fixed address, or None");
    RunVerb(command, [flags, type = type](Session& session) -> Status {
      FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
      FLYBALL_ASSIGN(json::Array ports, PortsOf(flags->tcp));
      json::Value object = NewObject("v1", "Service", name);
      object["metadata"]["labels"]["app"] = name;
      if (!flags->cluster_ip.empty()) object["spec"]["clusterIP"] = flags->cluster_ip;
      if (!ports.empty()) object["spec"]["ports"] = std::move(ports);
      object["spec"]["selector"]["app"] = name;
      object["spec"]["type"] = type;
      object["status"]["loadBalancer"] = json::Object();
      return CreateObject(session, flags->options, std::move(object));
    });
  }
}

void AddQuota(const Command& create) {
  auto flags = std::make_shared<CreateConfigFlags>();
  const Command command = Begin(create, "quota,resourcequota", "Create a ResourceQuota",
                                "flyball create quota q --hard=pods=5", flags);
  command.Option("--hard", &flags->hard, "Limits: resource=quantity,...");
  command.Option("--scopes", &flags->scopes, "Which pods count: BestEffort, NotTerminating, ...");
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Object hard, ParsePairs(flags->hard));
    json::Value object = NewObject("v1", "ResourceQuota", name);
    if (!hard.empty()) object["spec"]["hard"] = std::move(hard);
    json::Array scopes;
    for (const std::string& list : flags->scopes)
      for (const std::string& scope : SplitText(list, ',')) scopes.emplace_back(scope);
    if (!scopes.empty()) object["spec"]["scopes"] = std::move(scopes);
    object["status"] = json::Object();
    return CreateObject(session, flags->options, std::move(object));
  });
}

void AddPriorityClass(const Command& create) {
  auto flags = std::make_shared<CreateConfigFlags>();
  const Command command = Begin(create, "priorityclass,pc", "Create a PriorityClass",
                                "flyball create priorityclass high --value=1000", flags);
  auto value = std::make_shared<std::optional<std::int64_t>>();
  command.Option("--value", value.get(), "The priority");
  command.Option("--description", &flags->description, "What it is for");
  command.Option("--preemption-policy", &flags->preemption, "PreemptLowerPriority or Never");
  command.Flag("--global-default", &flags->global_default, "For pods that name no class");
  RunVerb(command, [flags, value](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    json::Value object = NewObject("scheduling.k8s.io/v1", "PriorityClass", name);
    object["value"] = static_cast<long long>(value->value_or(0));
    object["description"] = flags->description;
    object["globalDefault"] = flags->global_default;
    object["preemptionPolicy"] = flags->preemption;
    return CreateObject(session, flags->options, std::move(object));
  });
}

}  // namespace

void AddConfigCreators(const Command& create) {
  AddSimple(create, "namespace,ns", "Namespace", "Create a Namespace");
  AddSimple(create, "serviceaccount,sa", "ServiceAccount", "Create a ServiceAccount");
  AddConfigMap(create);
  AddSecret(create);
  AddService(create);
  AddQuota(create);
  AddPriorityClass(create);
}

}  // namespace flyball::cli
