#include "node/registry/registry_credentials.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "json/json.h"
#include "net/tls/pki.h"
#include "node/images/blob_store.h"

namespace flyball::node {
namespace {

constexpr std::string_view kDefaultRegistryHost = "index.docker.io";

Result<RegistryCredentials> ReadEntry(const std::string& registry, const json::Value& entry) {
  RegistryCredentials read{.registry = registry,
                           .user = std::string(entry["username"].string_or("")),
                           .password = std::string(entry["password"].string_or("")),
                           .identity_token = std::string(entry["identitytoken"].string_or(""))};
  const std::string_view auth = entry["auth"].string_or("");
  if (auth.empty()) return read;
  const auto decoded = net::Base64Decode(auth);
  const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos)
    return Unexpected(BadRequest("the auth of \"" + registry + "\" is not user:password in base64"));
  read.user = decoded->substr(0, colon);
  read.password = decoded->substr(colon + 1);
  return read;
}

Result<std::vector<RegistryCredentials>> ReadEntries(const json::Value& entries) {
  std::vector<RegistryCredentials> all;
  if (!entries.is_object()) return all;
  for (const auto& [registry, entry] : entries.as_object()) {
    FLYBALL_ASSIGN(RegistryCredentials read, ReadEntry(registry, entry));
    all.push_back(std::move(read));
  }
  return all;
}

// "host[:port][/path]" of what a configuration has for a registry; "/v1/" and "/v2/" mean the host alone.
std::string KeyOf(std::string_view registry) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (registry.starts_with(scheme)) registry.remove_prefix(scheme.size());
  const std::size_t slash = std::min(registry.find('/'), registry.size());
  std::string_view path = registry.substr(slash);
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) path.remove_prefix(3);
  return std::string(registry.substr(0, slash)) + (path == "/" ? "" : std::string(path));
}

struct SplitName {
  std::vector<std::string> parts;  // of the host's name
  std::string port, path;
};

SplitName Split(std::string_view key) {
  SplitName split;
  const std::size_t slash = std::min(key.find('/'), key.size());
  split.path = key.substr(slash);
  std::string_view host = key.substr(0, slash);
  if (const std::size_t colon = host.rfind(':'); colon != host.npos && host.find(']', colon) == host.npos) {
    split.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  for (std::size_t begin = 0; begin <= host.size();) {
    const std::size_t end = std::min(host.find('.', begin), host.size());
    split.parts.emplace_back(host.substr(begin, end - begin));
    begin = end + 1;
  }
  return split;
}

bool Matches(const std::string& key, const std::string& repository) {
  const SplitName glob = Split(key), target = Split(repository);
  if (glob.port != target.port || glob.parts.size() != target.parts.size()) return false;
  if (!target.path.starts_with(glob.path)) return false;
  for (std::size_t i = 0; i < glob.parts.size(); ++i)
    if (fnmatch(glob.parts[i].c_str(), target.parts[i].c_str(), 0) != 0) return false;
  return true;
}

Result<json::Value> ParseObject(std::string_view text) {
  const auto parsed = json::Parse(text);
  // Never the parser's words: they quote what may be a password.
  if (!parsed || !parsed->is_object())
    return Unexpected(BadRequest("error occurred while trying to unmarshal json"));
  return *parsed;
}

}  // namespace

Result<std::vector<RegistryCredentials>> ParseDockerConfig(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document, ParseObject(text));
  return ReadEntries(document["auths"]);
}

Result<std::vector<RegistryCredentials>> ParseLegacyDockerConfig(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document, ParseObject(text));
  return ReadEntries(document);
}

std::vector<RegistryCredentials> CredentialsFor(const std::vector<RegistryCredentials>& all,
                                                const std::string& repository) {
  std::vector<std::pair<std::string, RegistryCredentials>> keyed, found;
  for (const RegistryCredentials& one : all) keyed.emplace_back(KeyOf(one.registry), one);
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& one : keyed)
    if (Matches(one.first, repository)) found.push_back(one);
  if (found.empty() && repository.starts_with("docker.io/"))
    for (const auto& one : keyed)
      if (one.first == kDefaultRegistryHost) found.push_back(one);
  std::vector<RegistryCredentials> credentials;
  for (auto& one : found) credentials.push_back(std::move(one.second));
  return credentials;
}

std::vector<RegistryCredentials> MachineCredentials() {
  const char* const home = std::getenv("HOME");
  const auto text = ReadFile(std::string(home ? home : "/root") + "/.docker/config.json");
  if (!text) return {};
  auto parsed = ParseDockerConfig(*text);
  if (!parsed) {
    log::Warning("the machine's credentials for registries cannot be read",
                 {{"error", parsed.error().message()}});
    return {};
  }
  return std::move(*parsed);
}

std::string CredentialsDigest(const RegistryCredentials& credentials) {
  std::string text;
  for (const std::string* part : {&credentials.user, &credentials.password, &credentials.identity_token})
    text += std::to_string(part->size()) + ":" + *part;
  return DigestOf(text);
}

}  // namespace flyball::node
