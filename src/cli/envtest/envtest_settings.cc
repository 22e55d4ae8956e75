#include "cli/envtest/envtest_settings.h"

#include <cstdlib>
#include <filesystem>

#include "base/observe/log.h"
#include "base/values/ascii.h"

namespace flyball::cli {
namespace {

// The pattern of the folders that envtest makes for data and certificates.
constexpr std::string_view kFolderPrefix = "k8s_test_framework_";

}  // namespace

Result<EnvtestSettings> ParseEnvtestSettings(std::string_view text) {
  EnvtestSettings settings;
  for (const std::string& word : SplitWords(text, ", ")) {
    if (word == "controllers")
      settings.controllers = true;
    else if (word == "keep")
      settings.keep = true;
    else
      return Unexpected(BadRequest("FLYBALL_ENVTEST: \"" + word + "\" is neither controllers nor keep"));
  }
  return settings;
}

Result<EnvtestSettings> ReadEnvtestSettings() {
  const char* text = std::getenv("FLYBALL_ENVTEST");
  return ParseEnvtestSettings(text ? text : "");
}

Result<EnvtestLifetime> EnvtestLifetime::Begin(const EnvtestSettings& settings) {
  if (settings.keep) return EnvtestLifetime(nullptr);
  FLYBALL_ASSIGN(auto parent, ParentWatch::Start());
  return EnvtestLifetime(std::move(parent));
}

bool EnvtestLifetime::Wait() const {
  WaitForStopSignal();
  return parent_ && parent_->gone();
}

void RemoveEnvtestFolder(const std::string& path) {
  const auto name = std::filesystem::path(path).lexically_normal().filename().string();
  if (!name.starts_with(kFolderPrefix)) return;
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) log::Warning("cannot remove a folder", {{"path", path}, {"error", error.message()}});
}

}  // namespace flyball::cli
