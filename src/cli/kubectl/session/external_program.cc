#include "cli/kubectl/session/external_program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

// Quotes the text for the shell.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

int RunExternal(const std::string& command_line, const std::vector<std::string>& arguments) {
  std::string line = command_line;
  for (const std::string& argument : arguments) line += " " + Quoted(argument);
  std::cout.flush();
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string FromEnvironment(const std::vector<const char*>& names, const std::string& otherwise) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value && *value) return value;
  return otherwise;
}

}  // namespace flyball::cli
