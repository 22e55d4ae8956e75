#include "network/cni/cni_plugin.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/values/ip_address.h"
#include "client/subprocess.h"
#include "json/json.h"

namespace flyball::network {
namespace {

constexpr char kInterface[] = "eth0";
constexpr char kFirstWithCheck[] = "0.4.0", kFirstWithCollect[] = "1.1.0";

std::string Quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// type="bridge" name="x": a plugin of a list has no name of its own.
std::string Describe(const json::Value& plugin) {
  std::string text = "type=" + Quoted(plugin["type"].string_or(""));
  if (const std::string_view name = plugin["name"].string_or(""); !name.empty())
    text += " name=" + Quoted(name);
  return text;
}

std::string Folders(const std::vector<std::string>& folders, const char* between) {
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : between) + folder;
  return text;
}

// What a plugin says that has failed (libcni: pluginErr).
Error FailureOf(const ProcessOutput& output) {
  if (output.out.empty() && output.err.empty())
    return InternalError("netplugin failed with no error message: exit status " +
                         std::to_string(output.exit_code));
  if (output.out.empty()) return InternalError("netplugin failed: " + Quoted(output.err));
  const auto said = json::Parse(output.out);
  if (!said || !said->is_object())
    return InternalError("netplugin failed but error parsing its diagnostic message " + Quoted(output.out));
  std::string message(std::as_const(*said)["msg"].string_or(""));
  if (const auto details = std::as_const(*said)["details"].string_or(""); !details.empty())
    message += "; " + std::string(details);
  return InternalError(message);
}

// What a plugin reads: its configuration, completed.
json::Value InputOf(const CniConfig& config, const json::Value& plugin) {
  json::Value input = plugin;
  input["name"] = config.name;
  input["cniVersion"] = config.version;
  return input;
}

json::Value InputFor(const CniConfig& config, const json::Value& plugin, const CniTarget& target,
                     const json::Value& previous) {
  json::Value input = InputOf(config, plugin);
  if (plugin["capabilities"]["portMappings"].bool_or(false) && !target.port_mappings.empty())
    input["runtimeConfig"] = json::Object{{"portMappings", target.port_mappings}};
  if (!previous.is_null()) input["prevResult"] = previous;
  return input;
}

}  // namespace

Result<std::string> CniPlugins::Find(const std::string& type) const {
  if (type.find('/') != std::string::npos) return Unexpected(BadRequest("invalid plugin name: " + type));
  for (const std::string& folder : folders_)
    if (const std::string path = folder + "/" + type; ::access(path.c_str(), X_OK) == 0) return path;
  return Unexpected(Error(Reason::kNotFound, "failed to find plugin " + Quoted(type) + " in path [" +
                                                 Folders(folders_, " ") + "]"));
}

Result<json::Value> CniPlugins::Run(const char* command, const CniConfig& config, const json::Value& plugin,
                                    const CniTarget& target, json::Value input) const {
  FLYBALL_ASSIGN(const std::string path, Find(std::string(plugin["type"].string_or(""))));
  FLYBALL_ASSIGN(const ProcessOutput output,
                 FeedProcess(path, {},
                             {{"CNI_COMMAND", command},
                              {"CNI_CONTAINERID", target.container_id},
                              {"CNI_NETNS", target.namespace_path},
                              {"CNI_IFNAME", target.container_id.empty() ? "" : kInterface},
                              {"CNI_ARGS", target.args},
                              {"CNI_PATH", Folders(folders_, ":")}},
                             json::Write(input)));
  if (output.exit_code != 0) return Unexpected(FailureOf(output));
  if (output.out.empty()) return json::Value();
  auto result = json::Parse(output.out);
  if (!result) return Unexpected(InternalError("its result is no JSON: " + result.error().message()));
  // Results of the first versions do not say which one they are of.
  if (result->is_object() && !result->Find("cniVersion")) (*result)["cniVersion"] = config.version;
  return result;
}

Result<json::Value> CniPlugins::Add(const CniConfig& config, const CniTarget& target) const {
  json::Value result;
  for (const json::Value& plugin : config.plugins) {
    auto made = Run("ADD", config, plugin, target, InputFor(config, plugin, target, result));
    if (!made) return Unexpected(made.error().Annotate("plugin " + Describe(plugin) + " failed (add)"));
    result = std::move(*made);
  }
  return result;
}

Status CniPlugins::Check(const CniConfig& config, const CniTarget& target, const json::Value& result) const {
  if (config.disable_check || !CniVersionAtLeast(config.version, kFirstWithCheck)) return {};
  for (const json::Value& plugin : config.plugins) {
    const auto checked = Run("CHECK", config, plugin, target, InputFor(config, plugin, target, result));
    if (!checked)
      return Unexpected(checked.error().Annotate("plugin " + Describe(plugin) + " failed (check)"));
  }
  return {};
}

Status CniPlugins::Delete(const CniConfig& config, const CniTarget& target, const json::Value& result) const {
  Status all;
  const bool tells = CniVersionAtLeast(config.version, kFirstWithCheck);
  for (auto plugin = config.plugins.rbegin(); plugin != config.plugins.rend(); ++plugin) {
    const auto input = InputFor(config, *plugin, target, tells ? result : json::Value());
    const auto deleted = Run("DEL", config, *plugin, target, input);
    if (!deleted && all)
      all = Unexpected(deleted.error().Annotate("plugin " + Describe(*plugin) + " failed (delete)"));
  }
  return all;
}

Status CniPlugins::Collect(const CniConfig& config, const std::vector<std::string>& container_ids) const {
  if (config.disable_gc || !CniVersionAtLeast(config.version, kFirstWithCollect)) return {};
  json::Array valid;
  for (const std::string& id : container_ids)
    valid.push_back(json::Object{{"containerID", id}, {"ifname", kInterface}});
  for (const json::Value& plugin : config.plugins) {
    json::Value input = InputOf(config, plugin);
    input["cni.dev/valid-attachments"] = valid;
    const auto collected = Run("GC", config, plugin, {}, std::move(input));
    if (!collected)
      return Unexpected(collected.error().Annotate("plugin " + Describe(plugin) + " failed (gc)"));
  }
  return {};
}

std::vector<std::string> AddressesOf(const json::Value& result) {
  std::vector<api::IpAddress> found;
  const auto add = [&](std::string_view text) {
    if (const auto range = api::ParseCidr(text)) found.push_back(range->address);
  };
  for (const char* family : {"ip4", "ip6"}) add(result[family]["ip"].string_or(""));  // before 0.3.0
  const json::Value& ips = result["ips"];
  const json::Value& interfaces = result["interfaces"];
  for (std::size_t i = 0; i < ips.size(); ++i) {
    const json::Value& ip = ips.as_array()[i];
    // Links on the node's side have no sandbox, and their addresses are not the pod's.
    const auto of = static_cast<std::size_t>(ip["interface"].int_or(-1));
    if (of < interfaces.size() && interfaces.as_array()[of]["sandbox"].string_or("").empty()) continue;
    add(ip["address"].string_or(""));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.is_v4 && !b.is_v4; });
  std::vector<std::string> texts;
  for (const api::IpAddress& address : found) texts.push_back(address.ToString());
  return texts;
}

}  // namespace flyball::network
