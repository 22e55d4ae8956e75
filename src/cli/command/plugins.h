// Plugins: programs named kubectl-NAME on the PATH are commands of kubectl.
#pragma once

#include <string>
#include <vector>

namespace flyball::cli {

// Runs the plugin with the longest name that the words lead with, in place of this program; returns only if
// there is none. Words that follow its name are its arguments.
void RunPlugin(const std::vector<std::string>& words);

// The paths of all plugins, in the order of the PATH.
std::vector<std::string> FindPlugins();

}  // namespace flyball::cli
