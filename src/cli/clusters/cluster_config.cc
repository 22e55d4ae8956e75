#include "cli/clusters/cluster_config.h"

#include <algorithm>
#include <filesystem>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

using Words = std::vector<std::string>;

std::string ConfigPath(const Words& words) {
  constexpr std::string_view kFlag = "--config";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kFlag && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(std::string(kFlag) + "=")) return words[i].substr(kFlag.size() + 1);
  }
  return "";
}

bool IsGiven(const std::string& flag, const Words& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word == "--" + flag || word.starts_with("--" + flag + "=");
  });
}

Result<std::string> ScalarText(const std::string& flag, const json::Value& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_number() || value.is_bool()) return json::Write(value);
  return Unexpected(BadRequest(flag + " is neither a text, a number nor a list of texts"));
}

Status AddFlag(const std::string& flag, const json::Value& value, const std::filesystem::path& folder,
               Words& to) {
  if (value.is_bool()) {
    if (value.as_bool()) to.push_back("--" + flag);
    return {};
  }
  if (!value.is_array()) {
    FLYBALL_ASSIGN(const std::string text, ScalarText(flag, value));
    to.push_back("--" + flag + "=" + text);
    return {};
  }
  for (const json::Value& item : value.as_array()) {
    FLYBALL_ASSIGN(const std::string text, ScalarText(flag, item));
    to.push_back("--" + flag + "=" + (folder / text).string());
  }
  return {};
}

}  // namespace

Result<Words> WithClusterConfig(Words words) {
  const std::string path = ConfigPath(words);
  if (path.empty()) return words;
  FLYBALL_ASSIGN(const std::string text, ReadFile(path));
  const auto file = json::ParseYaml(text);
  if (!file) return Unexpected(file.error().Annotate(path));
  if (!file->is_object()) return Unexpected(BadRequest(path + ": it has to name flags: \"nodes: 3\""));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  Words added;
  for (const auto& [flag, value] : file->as_object()) {
    if (IsGiven(flag, words)) continue;
    if (const Status good = AddFlag(flag, value, folder, added); !good)
      return Unexpected(good.error().Annotate(path));
  }
  words.insert(words.end(), added.begin(), added.end());
  return words;
}

}  // namespace flyball::cli
