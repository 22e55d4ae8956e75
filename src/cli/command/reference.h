// The tree of commands as data, from which manual pages and the reference of the documentation are made:
// `flyball __reference` prints it.
#pragma once

#include "cli/command/command_node.h"
#include "json/value.h"

namespace flyball::cli {

// {name, path, section, summary, example, aliases, args: {name, help}, flags: [{name, shorthand, type,
// default, help, required}], commands: [...]}; what is hidden is left out. Flags that every command takes are
// those of the root. A command whose words are parsed by somebody else describes itself
// (CommandNode::foreign_reference).
json::Value ReferenceOf(const CommandNode& node);

}  // namespace flyball::cli
