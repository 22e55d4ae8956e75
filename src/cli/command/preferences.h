// The user's preferences, kubectl's kuberc: names for commands with options and arguments, and other defaults
// of options. They are applied by changing the words of the command line before it is parsed.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/command/command_node.h"

namespace flyball::cli {

// The words with what the file says. The file is that of --kuberc, of $KUBERC ("off": none), or
// ~/.kube/kuberc. One that was named has to be good; the last one may be missing, and one that cannot be used
// is only reported on standard error. Options that are given stay as they are. BadRequest, in kubectl's
// words, for bad preferences. A policy about credential plugins is refused, because nothing here would obey
// it.
Result<std::vector<std::string>> WithPreferences(const CommandNode& root, std::vector<std::string> words);

}  // namespace flyball::cli
