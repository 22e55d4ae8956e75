// AdmissionConfiguration: the file of --admission-control-config-file, which holds or names the configuration
// of single plugins.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/result.h"

namespace flyball::server {

// Thread-compatible.
class AdmissionConfiguration {
 public:
  // Nothing is configured.
  AdmissionConfiguration() = default;

  // BadRequest, with upstream's words, if the file cannot be read, is no AdmissionConfiguration or has fields
  // that are not known. As upstream, a file with the members `imagePolicy` or `podNodeSelectorPluginConfig`
  // instead is the configuration of ImagePolicyWebhook and PodNodeSelector.
  static Result<AdmissionConfiguration> Read(const std::string& path);

  // The plugin's own configuration, YAML or JSON; nothing if there is none. BadRequest if it is in a file
  // that cannot be read.
  Result<std::optional<std::string>> For(std::string_view plugin) const;

 private:
  struct Entry {
    std::optional<std::string> text;
    std::string path;
  };
  static Result<AdmissionConfiguration> Parse(std::string_view text, const std::string& folder);

  std::map<std::string, Entry, std::less<>> plugins_;
};

}  // namespace flyball::server
