#include "network/cni/cni_config.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::network {
namespace {

namespace fs = std::filesystem;

constexpr char kNewestVersion[] = "1.1.0";
constexpr char kOldestVersion[] = "0.1.0";

std::array<int, 3> NumbersOf(const std::string& version) {
  std::array<int, 3> numbers{};
  const std::vector<std::string> words = SplitWords(version, ".");
  for (std::size_t i = 0; i < numbers.size() && i < words.size(); ++i)
    for (const char c : words[i])
      if (c >= '0' && c <= '9') numbers[i] = numbers[i] * 10 + (c - '0');
  return numbers;
}

// The newest that we know, of those that the configuration is good for.
std::string VersionOf(const json::Value& file) {
  std::string version(file["cniVersion"].string_or(kOldestVersion));
  const json::Value& also = file["cniVersions"];
  for (std::size_t i = 0; i < also.size(); ++i) {
    const std::string other(also.as_array()[i].string_or(""));
    if (CniVersionAtLeast(other, version) && CniVersionAtLeast(kNewestVersion, other)) version = other;
  }
  return version;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string kind = entry.path().extension().string();
    if (kind == ".conflist" || kind == ".conf" || kind == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool CniVersionAtLeast(const std::string& version, const std::string& least) {
  return NumbersOf(version) >= NumbersOf(least);
}

Result<CniConfig> ParseCniConfig(const json::Value& file) {
  const auto bad = [](const std::string& why) { return Unexpected(BadRequest(why)); };
  if (!file.is_object()) return bad("it is no object");
  CniConfig config{std::string(file["name"].string_or("")), VersionOf(file), {}};
  if (config.name.empty()) return bad("missing 'name'");
  if (!CniVersionAtLeast(kNewestVersion, config.version))
    return bad("its cniVersion \"" + config.version + "\" is newer than " + kNewestVersion);
  config.disable_check = file["disableCheck"].bool_or(false);
  config.disable_gc = file["disableGC"].bool_or(false);
  if (file.Find("plugins")) {
    const json::Value& plugins = file["plugins"];
    if (!plugins.is_array() || plugins.empty()) return bad("no plugins in list");
    config.plugins.assign(plugins.as_array().begin(), plugins.as_array().end());
  } else {
    config.plugins = {file};
  }
  for (const json::Value& plugin : config.plugins)
    if (plugin["type"].string_or("").empty()) return bad("missing 'type'");
  return config;
}

Result<CniConfig> ReadCniConfig(const std::string& folder) {
  for (const std::string& path : FilesIn(folder)) {
    const auto text = ReadFile(path);
    const auto file = text ? json::Parse(*text) : Result<json::Value>(Unexpected(text.error()));
    auto config = file ? ParseCniConfig(*file) : Result<CniConfig>(Unexpected(file.error()));
    if (config) return config;
    log::Warning("configuration of CNI plugins left out",
                 {{"file", path}, {"error", config.error().message()}});
  }
  return Unexpected(
      Error(Reason::kNotFound, "no network config found in " + folder + ": cni plugin not initialized"));
}

json::Value ToJson(const CniConfig& config) {
  json::Array plugins(config.plugins.begin(), config.plugins.end());
  return json::Object{{"name", config.name},
                      {"cniVersion", config.version},
                      {"disableCheck", config.disable_check},
                      {"disableGC", config.disable_gc},
                      {"plugins", std::move(plugins)}};
}

}  // namespace flyball::network
