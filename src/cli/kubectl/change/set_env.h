// `set env`: environment variables of containers, given one by one or from a ConfigMap or Secret.
#pragma once

#include <string>
#include <vector>

#include "cli/command/command.h"

namespace flyball::cli {

void AddSetEnvCommand(const Command& set);

// Arguments with '=' (or a trailing '-') are the values to set (or to remove); the others select objects.
struct ChangeWords {
  std::vector<std::string> objects, changes;
};
ChangeWords SplitChanges(const std::vector<std::string>& args);

}  // namespace flyball::cli
