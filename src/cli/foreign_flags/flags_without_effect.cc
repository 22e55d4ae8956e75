#include "cli/foreign_flags/flags_without_effect.h"

#include <CLI/CLI.hpp>

#include "base/observe/log.h"

namespace flyball::cli {

std::vector<CLI::Option*> AddFlagsWithoutEffect(CLI::App& command, std::span<const ForeignFlag> flags) {
  std::vector<CLI::Option*> added;
  for (const ForeignFlag& flag : flags) {
    const std::string name = "--" + std::string(flag.name);
    if (command.get_option_no_throw(name)) continue;
    CLI::Option* option = command.add_option(name)->group("")->default_str(std::string(flag.value));
    if (flag.type == "bool") option->expected(0, 1);
    added.push_back(option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
  }
  return added;
}

void NameFlagsWithoutEffect(const std::vector<CLI::Option*>& options) {
  // Not get_name: options that the help does not show have none.
  for (const CLI::Option* option : options)
    if (option->count() > 0)
      log::Warning("flag has no effect here", {{"flag", "--" + option->get_lnames().front()}});
}

}  // namespace flyball::cli
