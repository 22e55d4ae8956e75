// The file of the user's preferences, kubectl's kuberc (group kubectl.config.k8s.io, kind Preference).
#pragma once

#include <optional>
#include <string>

#include "base/values/result.h"
#include "client/config.h"
#include "json/value.h"

namespace flyball::cli {

struct KubercPath {
  std::string path;    // "": preferences are switched off
  bool named = false;  // by the user; else it is the usual place
};
// `flag` is what --kuberc says. Without it $KUBERC counts ("off": none), else ~/.kube/kuberc.
Result<KubercPath> FindKuberc(const std::string& flag);

struct Kuberc {
  json::Value preference;   // as v1beta1 has it: aliases, defaults, credentialPluginPolicy, ...Allowlist
  std::string complaint{};  // members that nobody knows: the rest is good
};
// The first Preference of the file that can be read; nothing if the file is empty. NotFound if there is no
// such file, BadRequest if there is none in it. At `verbosity` 5, what was skipped is logged.
Result<std::optional<Kuberc>> ReadKuberc(const std::string& path, int verbosity = 0);
// Writes the file and its folder.
Status WriteKuberc(const std::string& path, const json::Value& preference);

// What is said about credential plugins, in client-go's words if it makes no sense.
Result<PluginPolicy> PluginPolicyIn(const json::Value& preference);

}  // namespace flyball::cli
