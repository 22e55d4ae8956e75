#include "node/registry/registry_hosts.h"

#include <unistd.h>

#include <algorithm>

#include "base/files/durable_file.h"
#include "json/yaml/yaml.h"
#include "net/http/origin.h"

namespace flyball::node {
namespace {

Status OnlyKeys(const json::Value& value, const std::string& where, std::vector<std::string_view> known) {
  if (value.is_null()) return {};
  if (!value.is_object()) return Unexpected(BadRequest(where + ": not a map"));
  for (const auto& [key, ignored] : value.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return Unexpected(BadRequest(where + ": unknown field \"" + key + "\""));
  return {};
}

Result<std::string> FileOf(const json::Value& tls, const char* key) {
  const std::string path(tls[key].string_or(""));
  if (path.empty()) return std::string();
  return ReadFile(path);
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "::1";
}

// Where a registry itself is.
std::string UrlOf(const std::string& registry) {
  if (registry == "docker.io") return "https://registry-1.docker.io";
  const auto origin = net::ParseOrigin("http://" + registry);
  return (origin && IsLoopback(origin->host) ? "http://" : "https://") + registry;
}

Result<net::ClientTls> ReadTls(const json::Value& value, const std::string& where) {
  FLYBALL_TRY(OnlyKeys(value, where, {"ca_file", "cert_file", "key_file", "insecure_skip_verify"}));
  net::ClientTls tls;
  FLYBALL_ASSIGN(tls.ca_pem, FileOf(value, "ca_file"));
  FLYBALL_ASSIGN(tls.certificate_pem, FileOf(value, "cert_file"));
  FLYBALL_ASSIGN(tls.private_key_pem, FileOf(value, "key_file"));
  tls.insecure_skip_verify = value["insecure_skip_verify"].bool_or(false);
  return tls;
}

Result<std::optional<RegistryCredentials>> ReadAuth(const std::string& host, const json::Value& value) {
  FLYBALL_TRY(OnlyKeys(value, "configs." + host + ".auth", {"username", "password", "identity_token"}));
  if (value.is_null()) return std::optional<RegistryCredentials>();
  return std::optional(
      RegistryCredentials{.registry = host,
                          .user = std::string(value["username"].string_or("")),
                          .password = std::string(value["password"].string_or("")),
                          .identity_token = std::string(value["identity_token"].string_or(""))});
}

Result<std::vector<std::string>> ReadEndpoints(const std::string& registry, const json::Value& mirror) {
  const std::string where = "mirrors." + registry;
  FLYBALL_TRY(OnlyKeys(mirror, where, {"endpoint"}));
  std::vector<std::string> urls;
  if (!mirror["endpoint"].is_array()) return Unexpected(BadRequest(where + ".endpoint: not a list"));
  for (const json::Value& item : mirror["endpoint"].as_array()) {
    std::string url(item.string_or(""));
    while (url.ends_with('/')) url.pop_back();
    const bool web = url.starts_with("http://") || url.starts_with("https://");
    if (!web || !net::ParseOrigin(url))
      return Unexpected(BadRequest(where + ".endpoint: \"" + url + "\" is not an http or https URL"));
    urls.push_back(std::move(url));
  }
  return urls;
}

}  // namespace

Result<RegistryHosts> RegistryHosts::Parse(std::string_view yaml) {
  FLYBALL_ASSIGN(const json::Value document, json::ParseYaml(yaml));
  FLYBALL_TRY(OnlyKeys(document, "registries", {"mirrors", "configs"}));
  RegistryHosts hosts;
  if (const json::Value* mirrors = document.Find("mirrors"); mirrors && mirrors->is_object())
    for (const auto& [registry, mirror] : mirrors->as_object()) {
      FLYBALL_ASSIGN(hosts.mirrors_[registry], ReadEndpoints(registry, mirror));
    }
  if (const json::Value* configs = document.Find("configs"); configs && configs->is_object())
    for (const auto& [host, config] : configs->as_object()) {
      FLYBALL_TRY(OnlyKeys(config, "configs." + host, {"auth", "tls"}));
      Config& read = hosts.configs_[host];
      FLYBALL_ASSIGN(read.credentials, ReadAuth(host, config["auth"]));
      FLYBALL_ASSIGN(read.tls, ReadTls(config["tls"], "configs." + host + ".tls"));
    }
  return hosts;
}

Result<RegistryHosts> RegistryHosts::Load(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return RegistryHosts();
  FLYBALL_ASSIGN(const std::string text, ReadFile(path));
  auto hosts = Parse(text);
  if (!hosts) return Unexpected(hosts.error().Annotate(path));
  return hosts;
}

std::vector<RegistryEndpoint> RegistryHosts::EndpointsOf(const std::string& registry) const {
  auto mirrors = mirrors_.find(registry);
  if (mirrors == mirrors_.end()) mirrors = mirrors_.find("*");
  std::vector<RegistryEndpoint> endpoints;
  bool itself = false;
  if (mirrors != mirrors_.end())
    for (const std::string& url : mirrors->second) {
      // An endpoint may be the registry itself, to say how it is spoken to.
      const bool own = url.ends_with("://" + registry);
      itself = itself || own;
      endpoints.push_back({.url = url, .mirror = !own});
    }
  if (!itself) endpoints.push_back({.url = UrlOf(registry)});
  for (RegistryEndpoint& endpoint : endpoints) {
    const std::string host = endpoint.url.substr(endpoint.url.find("://") + 3);
    auto config = configs_.find(host.substr(0, host.find('/')));
    if (config == configs_.end() && !endpoint.mirror) config = configs_.find(registry);
    if (config != configs_.end()) endpoint.credentials = config->second.credentials;
  }
  return endpoints;
}

net::ClientTls RegistryHosts::TlsOf(const std::string& authority) const {
  auto config = configs_.find(authority);
  if (config == configs_.end() && authority == "registry-1.docker.io") config = configs_.find("docker.io");
  return config == configs_.end() ? net::ClientTls() : config->second.tls;
}

}  // namespace flyball::node
