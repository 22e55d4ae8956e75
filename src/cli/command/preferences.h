// The user's preferences, kubectl's kuberc: names for commands with options and arguments, and other defaults
// of options. They are applied by changing the words of the command line before it is parsed.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/command/command_node.h"
#include "client/config.h"

namespace flyball::cli {

struct PreparedWords {
  std::vector<std::string> words;
  PluginPolicy plugin_policy{};  // which credential plugins may run
};
// The words with what the file says. The file is that of --kuberc, of $KUBERC ("off": none), or
// ~/.kube/kuberc; KUBECTL_KUBERC=false: none. One that was named has to be good; the last one may be missing,
// and one that cannot be used is only reported on standard error. Options that are given stay as they are.
// BadRequest, in kubectl's words, for bad preferences.
Result<PreparedWords> WithPreferences(const CommandNode& root, std::vector<std::string> words);

}  // namespace flyball::cli
