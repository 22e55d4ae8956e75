// CommandNode: one command of the tree, as Command defines it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command/flag_set.h"
#include "json/value.h"

namespace flyball::cli {

struct CommandNode {
  std::string name;
  std::vector<std::string> aliases{}, suggested_for{};
  std::string summary{}, example{}, section{}, args_name{}, args_help{};
  CommandNode* parent = nullptr;
  std::vector<std::unique_ptr<CommandNode>> children{};
  FlagSet flags{};
  std::vector<std::string>* args = nullptr;
  bool args_required = false, needs_sub = false, hidden = false, takes_command = false;
  std::vector<std::string> given{};  // flags of the command line
  std::function<int()> run{};
  std::vector<std::function<bool()>> shortcuts{}, stdin_users{};
  std::function<int(const std::vector<std::string>&)> foreign{};
  std::function<json::Value()> foreign_reference{};  // example, args and flags of a foreign command

  // By name or alias; null if there is none.
  CommandNode* Child(std::string_view word) const;
  // "kubectl rollout status".
  std::string Path() const;
  const CommandNode& Root() const { return parent ? parent->Root() : *this; }
};

// The words that lead from the root to a command are taken out of `words`, as cobra does it.
const CommandNode& FindCommand(const CommandNode& root, std::vector<std::string>& words);

// What --help prints.
std::string HelpText(const CommandNode& node);
// What `options` prints: the flags of all commands.
std::string GlobalOptionsText(const CommandNode& root);
// "\n\nDid you mean this?\n\tget\n" if some command is similar to the word.
std::string Suggestions(const CommandNode& node, const std::string& word);
// What a shell may offer for the last word, a line each, then cobra's directive.
std::string CompletionText(const CommandNode& root, std::vector<std::string> words,
                           const std::function<std::vector<std::string>(
                               const std::vector<std::string>&, const std::vector<std::string>&)>& live);

}  // namespace flyball::cli
