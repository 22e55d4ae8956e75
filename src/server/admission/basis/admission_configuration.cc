#include "server/admission/basis/admission_configuration.h"

#include <filesystem>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

// Files from before there was an AdmissionConfiguration.
bool IsLegacyFile(std::string_view text) {
  const auto value = json::ParseYaml(text);
  return value && value->is_object() &&
         (value->Find("imagePolicy") || value->Find("podNodeSelectorPluginConfig")) &&
         (*value)["kind"].string_or("").empty();
}

}  // namespace

Result<AdmissionConfiguration> AdmissionConfiguration::Read(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text)
    return Unexpected(BadRequest("unable to read admission control configuration from \"" + path + "\" [" +
                                 text.error().message() + "]"));
  if (IsLegacyFile(*text)) {
    AdmissionConfiguration legacy;
    legacy.plugins_["ImagePolicyWebhook"].text = *text;
    legacy.plugins_["PodNodeSelector"].text = *text;
    return legacy;
  }
  return Parse(*text, std::filesystem::path(path).parent_path().string());
}

Result<AdmissionConfiguration> AdmissionConfiguration::Parse(std::string_view text,
                                                             const std::string& folder) {
  FLYBALL_ASSIGN(const json::Value file,
                 ParseStrictObject(text, {"apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"},
                                   "AdmissionConfiguration"));
  AdmissionConfiguration out;
  std::vector<std::string> problems;
  {
    StrictObject object(file, "", problems);
    object.String("apiVersion");
    object.String("kind");
    const auto& plugins = object.List("plugins");
    for (std::size_t i = 0; i < plugins.size(); ++i) {
      StrictObject plugin(plugins[i], object.PathOf("plugins", i), problems);
      Entry entry;
      entry.path = plugin.String("path");
      if (!entry.path.empty()) entry.path = (std::filesystem::path(folder) / entry.path).string();
      if (const auto* inline_value = plugin.Object("configuration")) entry.text = json::Write(*inline_value);
      out.plugins_.emplace(plugin.String("name"), std::move(entry));  // the first of a name counts
    }
  }
  if (!problems.empty()) return Unexpected(StrictDecodingError(problems));
  return out;
}

Result<std::optional<std::string>> AdmissionConfiguration::For(std::string_view plugin) const {
  const auto found = plugins_.find(plugin);
  if (found == plugins_.end()) return std::optional<std::string>();
  if (found->second.text || found->second.path.empty()) return found->second.text;
  FLYBALL_ASSIGN(std::string text, ReadFile(found->second.path));
  return std::optional(std::move(text));
}

}  // namespace flyball::server
