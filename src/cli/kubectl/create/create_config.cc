#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "api/rules/format.h"
#include "base/values/ascii.h"
#include "cel/text/utf8.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/external_program.h"
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

namespace fs = std::filesystem;

struct CreateConfigFlags {
  CreateOptions options;
  std::vector<std::string> args, literals, files, env_files, tcp, scopes;
  std::string type, hard, value, description, cluster_ip, preemption = "PreemptLowerPriority";
  std::optional<std::int64_t> node_port;
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

// The data of a ConfigMap or Secret, as it is collected.
class DataCollector {
 public:
  DataCollector(std::string kind, std::string name) : kind_(std::move(kind)), name_(std::move(name)) {}

  Status Add(const std::string& key, std::string value) {
    if (const api::Problems problems = api::ConfigMapKeyProblems(key); !problems.empty())
      return Unexpected(
          LocalError("\"" + key + "\" is not a valid key name for a " + kind_ + ": " + problems[0]));
    if (data_.contains(key))
      return Unexpected(LocalError("cannot add key \"" + key +
                                   "\", another key by that name already exists in Data for " + kind_ +
                                   " \"" + name_ + "\""));
    data_.Set(key, std::move(value));
    return {};
  }
  // key=value.
  Status AddLiteral(const std::string& literal) {
    const std::size_t equals = literal.find('=');
    if (equals == std::string::npos)
      return Unexpected(LocalError("invalid literal source " + literal + ", expected key=value"));
    return Add(literal.substr(0, equals), literal.substr(equals + 1));
  }
  // [key=]path, where the path may be a folder: every file in it whose name can be a key.
  Status AddFile(const std::string& source) {
    const std::size_t equals = source.find('=');
    const std::string path = equals == std::string::npos ? source : source.substr(equals + 1);
    std::error_code ec;
    if (fs::is_directory(path, ec)) {
      if (equals != std::string::npos)
        return Unexpected(LocalError("cannot give a key name for a directory path"));
      return AddFolder(path);
    }
    FLYBALL_ASSIGN(std::string text, ReadData(path));
    return Add(equals == std::string::npos ? path.substr(path.rfind('/') + 1) : source.substr(0, equals),
               std::move(text));
  }
  // Lines of NAME=value; a name alone is taken from the environment.
  Status AddEnvFile(const std::string& path) {
    FLYBALL_ASSIGN(const std::string text, ReadData(path));
    for (std::string line : SplitText(text, '\n')) {
      line.erase(0, line.find_first_not_of(" \t"));
      if (line.empty() || line[0] == '#') continue;
      const std::size_t equals = line.find('=');
      const std::string key = line.substr(0, equals);
      FLYBALL_TRY(Add(
          key, equals == std::string::npos ? FromEnvironment({key.c_str()}, "") : line.substr(equals + 1)));
    }
    return {};
  }
  json::Object Take() { return std::move(data_); }

 private:
  static Result<std::string> ReadData(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return Unexpected(LocalError("error reading " + path + ": no such file or directory"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  Status AddFolder(const std::string& folder) {
    std::set<std::string> names;
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(folder, ec))
      if (entry.is_regular_file(ec)) names.insert(entry.path().filename().string());
    for (const std::string& name : names) {
      FLYBALL_ASSIGN(std::string text, ReadData(folder + "/" + name));
      FLYBALL_TRY(Add(name, std::move(text)));
    }
    return {};
  }

  const std::string kind_, name_;
  json::Object data_;
};

Result<json::Object> DataOf(const CreateConfigFlags& flags, const char* kind, const std::string& name) {
  if (!flags.env_files.empty() && (!flags.files.empty() || !flags.literals.empty()))
    return Unexpected(LocalError("from-env-file cannot be combined with from-file or from-literal"));
  DataCollector data(kind, name);
  for (const std::string& source : flags.files) FLYBALL_TRY(data.AddFile(source));
  for (const std::string& literal : flags.literals) FLYBALL_TRY(data.AddLiteral(literal));
  for (const std::string& path : flags.env_files) FLYBALL_TRY(data.AddEnvFile(path));
  return data.Take();
}

void AddDataFlags(const Command& command, const CreateConfigFlagsPtr& flags) {
  command.Option("--from-literal", &flags->literals, "key=value; may be repeated");
  command.Option("--from-file", &flags->files, "[key=]path of a file, or a folder; may be repeated");
  command.Option("--from-env-file", &flags->env_files, "File of lines key=value; may be repeated");
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
  AddDataFlags(command, flags);
  flags->options.AddHashFlag(command);
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Object data, DataOf(*flags, "ConfigMap", name));
    json::Value object = NewObject("v1", "ConfigMap", name);
    for (auto& [key, value] : data) {
      const std::string_view bytes = value.as_string();
      if (cel::IsValidUtf8(bytes))
        object["data"][key] = std::move(value);
      else
        object["binaryData"][key] = net::Base64Encode(bytes);
    }
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
  AddDataFlags(command, flags);
  flags->options.AddHashFlag(command);
  command.Option("--type", &flags->type, "Type of the secret; Opaque if absent");
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Object data, DataOf(*flags, "Secret", name));
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
      return Unexpected(LocalError("strconv.ParseUint: parsing \"" + port + "\": invalid syntax"));
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
    if (std::string_view(type) == "ClusterIP")
      command.Option("--clusterip", &flags->cluster_ip, "A fixed address, or None");
    if (std::string_view(type) == "NodePort")
      command.Option("--node-port", &flags->node_port, "Port on every node; the server chooses if absent");
    RunVerb(command, [flags, type = type](Session& session) -> Status {
      FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
      if (flags->tcp.empty() && flags->cluster_ip != "None")
        return Unexpected(LocalError("at least one tcp port specifier must be provided"));
      FLYBALL_ASSIGN(json::Array ports, PortsOf(flags->tcp));
      if (flags->node_port)
        for (json::Value& port : ports) port["nodePort"] = static_cast<long long>(*flags->node_port);
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
    for (const std::string& pair : SplitText(flags->hard, ','))
      if (!pair.empty() && pair.find('=') == std::string::npos)
        return Unexpected(LocalError("Invalid argument syntax " + pair + ", expected <resource>=<value>"));
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
    if (!flags->description.empty()) object["description"] = flags->description;
    if (flags->global_default) object["globalDefault"] = true;
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
