#include "cli/command/kuberc_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/files/durable_file.h"
#include "cli/command/klog.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGroup = "kubectl.config.k8s.io/";
constexpr int kLogFiles = 5;

using Names = std::vector<std::string_view>;

void AddUnknown(const json::Value& object, const Names& known, const std::string& path, std::string& out) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.as_object())
    if (std::find(known.begin(), known.end(), name) == known.end())
      out += (out.empty() ? "" : ", ") + std::string("unknown field \"") + path + name + "\"";
}

void AddUnknownInList(const json::Value& list, const Names& known, const std::string& path,
                      std::string& out) {
  if (!list.is_array()) return;
  for (std::size_t i = 0; i < list.as_array().size(); ++i)
    AddUnknown(list.as_array()[i], known, path + "[" + std::to_string(i) + "].", out);
}

std::string UnknownFields(const json::Value& p) {
  std::string out;
  AddUnknown(
      p, {"apiVersion", "kind", "aliases", "defaults", "credentialPluginPolicy", "credentialPluginAllowlist"},
      "", out);
  AddUnknownInList(p["aliases"], {"name", "command", "prependArgs", "appendArgs", "options"}, "aliases", out);
  AddUnknownInList(p["defaults"], {"command", "options"}, "defaults", out);
  AddUnknownInList(p["credentialPluginAllowlist"], {"name", "command"}, "credentialPluginAllowlist", out);
  return out.empty() ? out : "strict decoding error: " + out;
}

void Rename(json::Value& object, const char* from, const char* to) {
  if (!object.is_object()) return;
  if (const json::Value* there = std::as_const(object).Find(from)) {
    json::Value moved = *there;
    object.as_object().Erase(from);
    object[to] = std::move(moved);
  }
}

// v1alpha1 has other names for some members.
void ToBeta(json::Value& preference) {
  Rename(preference, "overrides", "defaults");
  for (const char* list : {"aliases", "defaults"})
    if (json::Value* entries = preference.Find(list); entries && entries->is_array())
      for (json::Value& entry : entries->as_array()) Rename(entry, "flags", "options");
  preference["apiVersion"] = std::string(kGroup) + "v1beta1";
}

// The older name of an entry's command.
void RenameAllowed(json::Value& preference) {
  if (json::Value* entries = preference.Find("credentialPluginAllowlist"); entries && entries->is_array())
    for (json::Value& entry : entries->as_array()) Rename(entry, "name", "command");
}

std::optional<Kuberc> AsPreference(json::Value document) {
  const std::string version(std::as_const(document)["apiVersion"].string_or(""));
  const bool alpha = version == std::string(kGroup) + "v1alpha1";
  const bool known = alpha || version == std::string(kGroup) + "v1beta1";
  if (!known || std::as_const(document)["kind"].string_or("") != "Preference") return std::nullopt;
  if (alpha) ToBeta(document);
  Kuberc kuberc{.preference = std::move(document)};
  kuberc.complaint = UnknownFields(kuberc.preference);
  RenameAllowed(kuberc.preference);
  return kuberc;
}

}  // namespace

Result<KubercPath> FindKuberc(const std::string& flag) {
  const char* variable = std::getenv("KUBERC");
  const std::string environment = variable ? variable : "";
  if (environment == "off" && !flag.empty())
    return Unexpected(
        BadRequest("disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive"));
  if (environment == "off") return KubercPath{};
  if (!flag.empty()) return KubercPath{flag, true};
  if (!environment.empty()) return KubercPath{environment, true};
  const char* home = std::getenv("HOME");
  return KubercPath{home ? std::string(home) + "/.kube/kuberc" : ""};
}

Result<std::optional<Kuberc>> ReadKuberc(const std::string& path, int verbosity) {
  std::error_code unreadable;
  if (!fs::exists(path, unreadable))
    return Unexpected(Error(Reason::kNotFound, "open " + path + ": no such file or directory"));
  FLYBALL_ASSIGN(const std::string text, ReadFile(path));
  FLYBALL_ASSIGN(auto documents, json::ParseYamlStream(text));
  std::erase_if(documents, [](const json::Value& document) { return document.is_null(); });
  for (json::Value& document : documents)
    if (auto kuberc = AsPreference(std::move(document))) return kuberc;
  if (!documents.empty())
    return Unexpected(BadRequest("no valid preferences found in " + path + ", use --v=5 to see details"));
  if (verbosity >= kLogFiles)
    LogLine(RealClock(), "marshal.go:101", "kuberc: no preferences found in " + path);
  return std::optional<Kuberc>();
}

Status WriteKuberc(const std::string& path, const json::Value& preference) {
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed)
    return Unexpected(BadRequest("failed to create directory " + folder.string() + ": " + failed.message()));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << json::WriteYaml(preference) << std::flush;
  if (!out) return Unexpected(BadRequest("failed to write kuberc file: open " + path));
  return {};
}

Result<PluginPolicy> PluginPolicyIn(const json::Value& preference) {
  const std::string kind(preference["credentialPluginPolicy"].string_or(""));
  const json::Value& list = preference["credentialPluginAllowlist"];
  PluginPolicy policy;
  if (kind.empty() || kind == "AllowAll" || kind == "DenyAll") {
    if (list.is_array())
      return Unexpected(BadRequest("misconfigured credential plugin allowlist: plugin policy is \"" + kind +
                                   "\" but allowlist is non-nil"));
    if (kind == "DenyAll") policy.kind = PluginPolicy::Kind::kDenyAll;
    return policy;
  }
  if (kind != "Allowlist") return Unexpected(BadRequest("unknown plugin policy: \"" + kind + "\""));
  const std::string set = "credential plugin policy set to \"Allowlist\", but allowlist is ";
  if (!list.is_array()) return Unexpected(BadRequest(set + "unspecified"));
  if (list.empty()) return Unexpected(BadRequest(set + "empty; use \"DenyAll\" policy instead"));
  policy.kind = PluginPolicy::Kind::kAllowlist;
  for (const json::Value& entry : list.as_array()) {
    const std::string command(entry["command"].string_or(""));
    if (command.empty())
      return Unexpected(BadRequest("misconfigured credential plugin allowlist: empty allowlist entry #" +
                                   std::to_string(policy.allowlist.size() + 1)));
    if (const std::string clean = fs::path(command).lexically_normal().string(); clean != command)
      return Unexpected(BadRequest("non-normalized file path: \"" + command + "\" vs \"" + clean + "\""));
    policy.allowlist.push_back(command);
  }
  return policy;
}

}  // namespace flyball::cli
