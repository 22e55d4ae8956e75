#include "server/catalog/runtime_config.h"

#include "base/values/ascii.h"

namespace flyball::server {
namespace {

bool HasVersion(std::string_view group_version) {
  for (const auto& kind : api::BuiltinKinds())
    if (kind.ApiVersion() == group_version) return true;
  return false;
}

bool HasGroup(std::string_view group) {
  for (const auto& kind : api::BuiltinKinds())
    if (kind.group == group) return true;
  return false;
}

// The parts of "group/version/resource" or "version".
struct Key {
  std::string group, group_version;
};
Key SplitKey(const std::string& key) {
  auto parts = SplitText(key, '/');
  // The core group as its path has it, which kube-apiserver takes too: api/v1, api/v1/pods.
  if (parts.size() > 1 && parts[0] == "api") parts.erase(parts.begin());
  if (parts.size() == 1) return {"", parts[0]};
  if (parts[0] == "v1") return {"", "v1"};  // v1/pods
  return {parts[0], parts[0] + "/" + parts[1]};
}

Error BadConfig(const std::string& why) {
  return BadRequest("--runtime-config: " + why);
}

}  // namespace

Status RuntimeConfig::Set(std::string_view text) {
  for (const std::string& word : SplitWords(text, ",")) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "true" : word.substr(equals + 1);
    if (value != "true" && value != "false" && !value.empty())
      return Unexpected(BadConfig("invalid value " + word));
    FLYBALL_TRY(SetOne(key, value != "false"));
  }
  return {};
}

Status RuntimeConfig::SetOne(const std::string& key, bool value) {
  if (key == "api/all" || key == "api/ga") {
    stable_ = value;
    return {};
  }
  if (key == "api/beta" || key == "api/alpha") {
    if (value) return Unexpected(BadConfig(key + "=true: flyball serves stable versions only"));
    return {};
  }
  const Key parts = SplitKey(key);
  if (!HasGroup(parts.group)) return Unexpected(BadConfig("unknown api groups " + key));
  if (!HasVersion(parts.group_version)) {
    if (value)
      return Unexpected(BadConfig(parts.group_version + " is not served: flyball has stable versions only"));
    return {};
  }
  given_[key.starts_with("api/") ? key.substr(4) : key] = value;
  return {};
}

bool RuntimeConfig::Serves(const api::KindInfo& kind) const {
  if (kind.since > minor_) return false;
  const std::string version = kind.ApiVersion();
  if (const auto found = given_.find(version + "/" + std::string(kind.plural)); found != given_.end())
    return found->second;
  const auto found = given_.find(version);
  return found == given_.end() ? stable_ : found->second;
}

}  // namespace flyball::server
