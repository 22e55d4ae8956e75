// Runs external programs that the user chooses: an editor, a diff program.
#pragma once

#include <string>
#include <vector>

namespace flyball::cli {

// Runs the configured command line through the shell, with these arguments, on our terminal. Returns the exit
// status; 127 or more if it could not be run or was killed.
int RunExternal(const std::string& command_line, const std::vector<std::string>& arguments);

// The first of these environment variables that is set, else `otherwise`.
std::string FromEnvironment(const std::vector<const char*>& names, const std::string& otherwise);

}  // namespace flyball::cli
