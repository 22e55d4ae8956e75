#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/files/durable_file.h"
#include "client/config.h"
#include "client/credentials.h"
#include "client/proxy_environment.h"
#include "client/rotating_transport.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "net/tls/pki.h"

namespace flyball {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";

// One kubeconfig file, or several merged: of entries with one name the first counts.
struct Kubeconfig {
  struct Entry {
    std::string name;
    json::Value value;
    std::string directory;  // of its file: relative paths begin here
  };
  std::vector<Entry> clusters, users, contexts;
  std::string current_context;

  static const Entry* Find(const std::vector<Entry>& entries, std::string_view name) {
    for (const Entry& entry : entries)
      if (entry.name == name) return &entry;
    return nullptr;
  }

  Status Merge(std::string_view text, const std::string& directory) {
    auto parsed = json::ParseYaml(text);
    if (!parsed) return Unexpected(BadRequest(parsed.error().message()));
    const json::Value& root = *parsed;
    if (const std::string_view version = root["apiVersion"].string_or("v1"); version != "v1")
      return Unexpected(BadRequest("no kind \"Config\" is registered for version \"" + std::string(version) +
                                   "\" in scheme \"pkg/runtime/scheme.go:111\""));
    if (current_context.empty()) current_context = root["current-context"].string_or("");
    MergeList(root["clusters"], "cluster", directory, clusters);
    MergeList(root["users"], "user", directory, users);
    MergeList(root["contexts"], "context", directory, contexts);
    return {};
  }

  static void MergeList(const json::Value& list, std::string_view member, const std::string& directory,
                        std::vector<Entry>& into) {
    if (!list.is_array()) return;
    for (const json::Value& item : list.as_array()) {
      const std::string name(item["name"].string_or(""));
      if (!Find(into, name)) into.push_back({name, item[member], directory});
    }
  }
};

std::string Absolute(std::string_view path, const std::string& directory) {
  const fs::path p(path);
  return p.is_absolute() || directory.empty() ? p.string() : (fs::path(directory) / p).string();
}

// The bytes of `<field>-data` (base64) or of the file `<field>` names; "" if neither is there.
Result<std::string> DataOrFile(const Kubeconfig::Entry& entry, const std::string& field) {
  const std::string_view inline_data = entry.value[field + "-data"].string_or("");
  if (!inline_data.empty()) {
    auto decoded = net::Base64Decode(inline_data);
    if (!decoded)
      return Unexpected(BadRequest("kubeconfig: " + field + "-data of \"" + entry.name + "\" is not base64"));
    return decoded;
  }
  const std::string_view path = entry.value[field].string_or("");
  if (path.empty()) return std::string();
  return ReadFile(Absolute(path, entry.directory));
}

Status ReadCluster(const Kubeconfig::Entry& entry, const KubeconfigParams& params, ClientConfig* config) {
  net::ClientOptions& http = config->http;
  http.url = params.server.empty() ? entry.value["server"].string_or("") : std::string_view(params.server);
  if (http.url.empty())
    return Unexpected(BadRequest("kubeconfig: cluster \"" + entry.name + "\" has no server"));
  FLYBALL_ASSIGN(http.tls.ca_pem, DataOrFile(entry, "certificate-authority"));
  http.tls.insecure_skip_verify = entry.value["insecure-skip-tls-verify"].bool_or(false);
  http.tls.server_name = entry.value["tls-server-name"].string_or("");
  http.proxy_url = entry.value["proxy-url"].string_or("");
  if (http.proxy_url.empty()) http.proxy_url = ProxyFor(http.url, ProcessEnvironment());
  return {};
}

ExecPlugin::Interactive InteractiveMode(std::string_view text) {
  if (text == "Never") return ExecPlugin::Interactive::kNever;
  if (text == "Always") return ExecPlugin::Interactive::kAlways;
  return ExecPlugin::Interactive::kIfAvailable;
}

ExecPlugin ReadExec(const json::Value& exec, const Kubeconfig::Entry& cluster, const std::string& directory) {
  ExecPlugin plugin;
  const std::string_view command = exec["command"].string_or("");
  // As upstream: a command with a slash is a path, relative to the file; else it is looked up.
  const bool is_path = command.find('/') != std::string_view::npos;
  plugin.command = is_path ? Absolute(command, directory) : std::string(command);
  if (exec["args"].is_array())
    for (const json::Value& arg : exec["args"].as_array()) plugin.args.emplace_back(arg.string_or(""));
  if (exec["env"].is_array())
    for (const json::Value& var : exec["env"].as_array())
      plugin.env.emplace_back(var["name"].string_or(""), var["value"].string_or(""));
  plugin.api_version = exec["apiVersion"].string_or(plugin.api_version);
  plugin.interactive = InteractiveMode(exec["interactiveMode"].string_or(""));
  plugin.install_hint = exec["installHint"].string_or("");
  if (exec["provideClusterInfo"].bool_or(false)) {
    json::Object info{{"server", cluster.value["server"]}};
    for (const char* field :
         {"tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url"})
      if (const json::Value* v = cluster.value.Find(field)) info.Set(field, *v);
    plugin.cluster = json::Value(std::move(info));
  }
  return plugin;
}

// What is wrong with the entry, in client-go's words.
Status CheckExec(const std::string& user, const json::Value& exec) {
  const auto missing = [&](const char* what) {
    return Unexpected(BadRequest(std::string(what) + " must be specified for " + user +
                                 " to use exec authentication plugin"));
  };
  if (exec["command"].string_or("").empty()) return missing("command");
  const std::string_view version = exec["apiVersion"].string_or(""),
                         mode = exec["interactiveMode"].string_or("");
  if (version.empty()) return missing("apiVersion");
  if (version != kExecV1 && version != kExecV1Beta1)
    return Unexpected(BadRequest("exec plugin: invalid apiVersion \"" + std::string(version) + "\""));
  if (mode.empty() && version == kExecV1) return missing("interactiveMode");
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable" && mode != "Always")
    return Unexpected(BadRequest("invalid interactiveMode for " + user + ": \"" + std::string(mode) + "\""));
  return {};
}

// Run at once: mistakes are told here, and a certificate is needed before the first connection.
Status UseExec(ExecPlugin plugin, ClientConfig* config, const Clock& clock) {
  auto session = std::make_shared<ExecSession>(std::move(plugin), clock);
  const auto first = session->Current();
  if (!first)
    return Unexpected(Error(Reason::kConnection, "getting credentials: " + first.error().message()));
  config->credentials = ExecCredentials(session);
  if (first->certificate_pem.empty()) return {};
  config->http.tls.certificate_pem = first->certificate_pem;
  config->http.tls.private_key_pem = first->private_key_pem;
  config->tls_source = ExecTls(std::move(session), config->http.tls);
  return {};
}

// The file a field names, if its bytes are not in the kubeconfig itself.
std::string FileOf(const Kubeconfig::Entry& entry, const std::string& field) {
  const std::string_view path = entry.value[field].string_or("");
  if (path.empty() || !entry.value[field + "-data"].string_or("").empty()) return {};
  return Absolute(path, entry.directory);
}

void FollowFiles(const Kubeconfig::Entry& cluster, const Kubeconfig::Entry* user, ClientConfig* config,
                 const Clock& clock) {
  TlsFiles files{.ca = FileOf(cluster, "certificate-authority")};
  if (user) {
    files.certificate = FileOf(*user, "client-certificate");
    files.private_key = FileOf(*user, "client-key");
  }
  if (config->tls_source || (files.ca.empty() && files.certificate.empty())) return;
  config->tls_source = FileTls(std::move(files), config->http.tls, clock);
}

Status ReadUser(const Kubeconfig::Entry& entry, const Kubeconfig::Entry& cluster,
                const KubeconfigParams& params, ClientConfig* config, const Clock& clock) {
  const json::Value& user = entry.value;
  FLYBALL_ASSIGN(config->http.tls.certificate_pem, DataOrFile(entry, "client-certificate"));
  FLYBALL_ASSIGN(config->http.tls.private_key_pem, DataOrFile(entry, "client-key"));
  config->rest.impersonate_user = user["as"].string_or("");
  if (user["as-groups"].is_array())
    for (const json::Value& group : user["as-groups"].as_array())
      config->rest.impersonate_groups.emplace_back(group.string_or(""));
  config->rest.impersonate_uid = user["as-uid"].string_or("");
  if (user["as-user-extra"].is_object())
    for (const auto& [key, values] : user["as-user-extra"].as_object())
      if (values.is_array())
        for (const json::Value& value : values.as_array())
          config->rest.impersonate_extra.emplace_back(key, value.string_or(""));
  if (user.Find("auth-provider"))
    return Unexpected(
        BadRequest("kubeconfig: auth-provider of user \"" + entry.name + "\" is not supported; use exec"));
  const json::Value* exec = user.Find("exec");
  const bool has_plugin = exec && exec->is_object();
  if (has_plugin) FLYBALL_TRY(CheckExec(entry.name, *exec));
  const std::string_view token_file = user["tokenFile"].string_or("");
  const std::string_view token = user["token"].string_or("");
  if (!token_file.empty())
    config->credentials = TokenFile(Absolute(token_file, entry.directory), clock);
  else if (!token.empty())
    config->credentials = BearerToken(std::string(token));
  else if (const json::Value* name = user.Find("username"))
    config->credentials =
        BasicAuth(std::string(name->string_or("")), std::string(user["password"].string_or("")));
  // Other credentials go before a plugin, also certificates.
  if (!has_plugin || params.has_credentials || config->credentials ||
      !config->http.tls.certificate_pem.empty())
    return {};
  ExecPlugin plugin = ReadExec(*exec, cluster, entry.directory);
  plugin.policy = params.plugin_policy;
  plugin.stdin_in_use = params.stdin_in_use;
  return UseExec(std::move(plugin), config, clock);
}

Error Missing(const char* kind, const char* upstream_name, const std::string& name) {
  return BadRequest(std::string(upstream_name) + " \"" + name + "\" does not exist")
      .WithDetails({.name = name, .kind = kind});
}

Result<ClientConfig> Resolve(const Kubeconfig& file, const KubeconfigParams& params, const Clock& clock) {
  const std::string& name = params.context.empty() ? file.current_context : params.context;
  // With an address, nothing has to be chosen in the file.
  const Kubeconfig::Entry none;
  if (name.empty() && params.server.empty())
    return Unexpected(BadRequest("kubeconfig: no current-context is set"));
  const auto* context = name.empty() ? &none : Kubeconfig::Find(file.contexts, name);
  if (!context) return Unexpected(Missing("context", "context", name));
  const std::string cluster_name(params.cluster.empty() ? context->value["cluster"].string_or("")
                                                        : std::string_view(params.cluster));
  const auto* cluster = Kubeconfig::Find(file.clusters, cluster_name);
  if (!cluster && params.cluster.empty() && !params.server.empty()) cluster = &none;
  if (!cluster) return Unexpected(Missing("cluster", "cluster", cluster_name));

  ClientConfig config;
  config.default_namespace = context->value["namespace"].string_or("default");
  FLYBALL_TRY(ReadCluster(*cluster, params, &config));
  const std::string user_name(params.user.empty() ? context->value["user"].string_or("")
                                                  : std::string_view(params.user));
  if (user_name.empty()) {
    FollowFiles(*cluster, nullptr, &config, clock);
    return config;
  }
  const auto* user = Kubeconfig::Find(file.users, user_name);
  if (!user) return Unexpected(Missing("user", "auth info", user_name));
  FLYBALL_TRY(ReadUser(*user, *cluster, params, &config, clock));
  FollowFiles(*cluster, user, &config, clock);
  return config;
}

std::vector<std::string> Paths(const KubeconfigParams& params) {
  const EnvironmentReader environment = ProcessEnvironment();
  if (!params.path.empty()) return {params.path};
  std::vector<std::string> paths;
  std::string list = environment("KUBECONFIG");
  while (!list.empty()) {
    const std::size_t colon = list.find(':');
    if (colon != 0) paths.push_back(list.substr(0, colon));
    list = colon == std::string::npos ? "" : list.substr(colon + 1);
  }
  if (paths.empty()) paths.push_back(environment("HOME") + "/.kube/config");
  return paths;
}

}  // namespace

Result<ClientConfig> ParseKubeconfig(std::string_view yaml, const std::string& directory,
                                     const std::string& context, const Clock& clock) {
  Kubeconfig file;
  FLYBALL_TRY(file.Merge(yaml, directory));
  return Resolve(file, {.context = context}, clock);
}

Result<ClientConfig> LoadKubeconfig(const KubeconfigParams& params, const Clock& clock) {
  Kubeconfig merged;
  bool any = false;
  const auto paths = Paths(params);
  for (const std::string& path : paths) {
    auto text = ReadFile(path);
    // As upstream: files of the list that do not exist are skipped.
    if (!text && paths.size() > 1) continue;
    std::error_code unreadable;
    if (!text && !fs::exists(path, unreadable))
      return Unexpected(BadRequest("stat " + path + ": no such file or directory"));  // in kubectl's words
    if (!text) return Unexpected(text.error());
    any = true;
    if (const Status read = merged.Merge(*text, fs::absolute(path).parent_path().string()); !read)
      return Unexpected(read.error().Annotate("error loading config file \"" + path + "\""));
  }
  if (!any) return Unexpected(Error(Reason::kNotFound, "no kubeconfig found"));
  return Resolve(merged, params, clock);
}

Result<ClientConfig> LoadInClusterConfig(const Clock& clock, const std::string& directory) {
  const EnvironmentReader environment = ProcessEnvironment();
  const std::string host = environment("KUBERNETES_SERVICE_HOST"),
                    port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return Unexpected(
        Error(Reason::kNotFound,
              "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set"));
  ClientConfig config;
  const bool ipv6 = host.find(':') != std::string::npos;
  config.http.url = "https://" + (ipv6 ? "[" + host + "]" : host) + ":" + port;
  config.http.proxy_url = ProxyFor(config.http.url, environment);
  FLYBALL_ASSIGN(config.http.tls.ca_pem, ReadFile(directory + "/ca.crt"));
  config.tls_source = FileTls({.ca = directory + "/ca.crt"}, config.http.tls, clock);
  config.credentials = TokenFile(directory + "/token", clock);
  if (auto ns = ReadFile(directory + "/namespace"); ns && !ns->empty()) config.default_namespace = *ns;
  return config;
}

Result<ClientConfig> LoadConfig(const KubeconfigParams& params, const Clock& clock) {
  if (!params.path.empty() || !params.context.empty()) return LoadKubeconfig(params, clock);
  auto in_cluster = LoadInClusterConfig(clock);
  if (in_cluster) return in_cluster;
  return LoadKubeconfig(params, clock);
}

Result<std::shared_ptr<RestClient>> NewRestClient(
    const ClientConfig& config, const Runtime& runtime,
    const std::function<std::shared_ptr<net::Transport>(std::shared_ptr<net::Transport>)>& wrap) {
  FLYBALL_ASSIGN(auto transport, NewRotatingTransport(config.http, config.tls_source));
  if (wrap) transport = wrap(std::move(transport));
  return std::make_shared<RestClient>(std::move(transport), runtime, config.rest, config.credentials);
}

}  // namespace flyball
