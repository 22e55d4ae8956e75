#include "cli/command/command_node.h"

#include <algorithm>

#include "base/values/ascii.h"

namespace flyball::cli {
namespace {

// How many letters have to be added, removed or replaced to make one word the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// The examples are written for flyball.
std::string WithProgramName(std::string text, const std::string& program) {
  static const std::string kWritten = "flyball ";
  if (program == "flyball") return text;
  for (std::size_t at = 0; (at = text.find(kWritten, at)) != std::string::npos; at += program.size() + 1)
    text.replace(at, kWritten.size(), program + " ");
  return text;
}

std::string OptionLines(const FlagSet& flags) {
  std::vector<const FlagSpec*> sorted;
  for (const FlagSpec& flag : flags.all()) sorted.push_back(&flag);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::string out;
  for (const FlagSpec* flag : sorted) {
    out += flag->shorthand ? "    -" + std::string(1, flag->shorthand) + ", --" : "    --";
    const bool text = flag->type == "string";
    out += flag->name + "=" + (text ? "'" + flag->default_text + "'" : flag->default_text) + ":\n\t" +
           flag->help + "\n\n";
  }
  return out;
}

std::string CommandLines(const CommandNode& node) {
  std::string out, section;
  std::size_t width = 0;
  for (const auto& child : node.children) width = std::max(width, child->name.size());
  for (const auto& child : node.children) {
    if (child->hidden) continue;
    const std::string title = child->section.empty() ? "Available Commands" : child->section;
    if (title != section) out += (out.empty() ? "" : "\n") + title + ":\n";
    section = title;
    out += "  " + child->name + std::string(width - child->name.size() + 3, ' ') + child->summary + "\n";
  }
  return out;
}

std::string UsageLine(const CommandNode& node) {
  std::string line = "  " + node.Path();
  if (!node.children.empty() && !node.run) return line + (node.parent ? " SUBCOMMAND" : " [command]") + "\n";
  if (!node.args_name.empty()) line += " " + node.args_name;
  return line + " [options]\n";
}

std::vector<const FlagSet*> SetsOf(const CommandNode& node) {
  std::vector<const FlagSet*> sets{&node.flags};
  if (node.parent) sets.push_back(&node.Root().flags);
  return sets;
}

std::vector<std::string> FlagCandidates(const CommandNode& node) {
  std::vector<std::string> out;
  for (const FlagSet* set : SetsOf(node))
    for (const FlagSpec& flag : set->all()) out.push_back("--" + flag.name + (flag.alone ? "" : "="));
  return out;
}

}  // namespace

CommandNode* CommandNode::Child(std::string_view word) const {
  for (const auto& child : children)
    if (child->name == word ||
        std::find(child->aliases.begin(), child->aliases.end(), word) != child->aliases.end())
      return child.get();
  return nullptr;
}

std::string CommandNode::Path() const {
  return (parent ? parent->Path() + " " : "") + name;
}

const CommandNode& FindCommand(const CommandNode& root, std::vector<std::string>& words) {
  const CommandNode* node = &root;
  while (!node->foreign) {
    const auto at = FirstWord(SetsOf(*node), words);
    const CommandNode* next = at ? node->Child(words[*at]) : nullptr;
    if (!next) break;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(*at));
    node = next;
  }
  return *node;
}

std::string HelpText(const CommandNode& node) {
  const std::string program = node.Root().name;
  std::string out = node.summary + (node.summary.ends_with('.') ? "\n" : ".\n");
  if (!node.aliases.empty()) {
    out += "\nAliases:\n" + node.name;
    for (const std::string& alias : node.aliases) out += ", " + alias;
    out += "\n";
  }
  if (!node.example.empty()) out += "\nExamples:\n  " + WithProgramName(node.example, program) + "\n";
  if (!node.children.empty()) out += "\n" + CommandLines(node);
  if (!node.args_help.empty()) out += "\nArguments:\n  " + node.args_name + ": " + node.args_help + "\n";
  if (node.parent && !node.flags.all().empty()) out += "\nOptions:\n" + OptionLines(node.flags);
  out += (out.ends_with("\n\n") ? "" : "\n") + std::string("Usage:\n") + UsageLine(node);
  if (!node.children.empty())
    out += "\nUse \"" + node.Path() + " <command> --help\" for more information about a given command.\n";
  return out + (node.children.empty() ? "\n" : "") + "Use \"" + program +
         " options\" for a list of global command-line options (applies to all commands).\n";
}

std::string GlobalOptionsText(const CommandNode& root) {
  return "The following options can be passed to any command:\n\n" + OptionLines(root.flags);
}

std::string Suggestions(const CommandNode& node, const std::string& word) {
  constexpr std::size_t kSimilar = 2;
  std::string found;
  for (const auto& child : node.children) {
    if (child->hidden) continue;
    const std::size_t distance = EditDistance(LowerCase(child->name), LowerCase(word));
    // Two letters are similar to every other two.
    const bool alike = distance <= kSimilar && (distance < word.size() || node.Root().name == "kubectl");
    const bool meant =
        std::any_of(child->suggested_for.begin(), child->suggested_for.end(),
                    [&](const std::string& other) { return LowerCase(other) == LowerCase(word); });
    if (alike || meant || LowerCase(child->name).starts_with(LowerCase(word)))
      found += "\t" + child->name + "\n";
  }
  return found.empty() ? "" : "\n\nDid you mean this?\n" + found;
}

std::string CompletionText(const CommandNode& root, std::vector<std::string> words,
                           const std::function<std::vector<std::string>(
                               const std::vector<std::string>&, const std::vector<std::string>&)>& live) {
  constexpr const char *kNoFiles = ":4\n", *kNoSpace = ":6\n";
  const std::string prefix = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  const CommandNode& node = FindCommand(root, words);
  std::vector<std::string> candidates;
  const bool flag = prefix.starts_with("-");
  if (flag) {
    candidates = FlagCandidates(node);
  } else {
    for (const auto& child : node.children)
      if (!child->hidden) candidates.push_back(child->name);
    auto parsed = ParseArguments(SetsOf(node), words);
    if (candidates.empty() && parsed && live) {
      std::vector<std::string> path = SplitText(node.Path(), ' ');
      path.erase(path.begin());
      candidates = live(path, parsed->arguments);
    }
  }
  std::string out;
  for (const std::string& candidate : candidates)
    if (candidate.starts_with(prefix)) out += candidate + "\n";
  return out + (flag ? kNoSpace : kNoFiles);
}

}  // namespace flyball::cli
