// The flags of a foreign program that a command of ours takes so that command lines work, and does not use.
#pragma once

#include <span>
#include <vector>

#include "cli/foreign_flags/flag_parser.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace flyball::cli {

// Adds those that the command does not have yet; its help does not show them.
std::vector<CLI::Option*> AddFlagsWithoutEffect(CLI::App& command, std::span<const ForeignFlag> flags);
// Logs those that were given, once each.
void NameFlagsWithoutEffect(const std::vector<CLI::Option*>& options);

}  // namespace flyball::cli
