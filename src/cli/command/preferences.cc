#include "cli/command/preferences.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "base/values/ascii.h"
#include "cli/command/kuberc_file.h"

namespace flyball::cli {
namespace {

Result<std::string> KubercFlag(const std::vector<std::string>& words) {
  constexpr std::string_view kFlag = "--kuberc";
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    std::string value;
    if (words[i] == kFlag && i + 1 < words.size())
      value = words[i + 1];
    else if (words[i].starts_with(std::string(kFlag) + "="))
      value = words[i].substr(kFlag.size() + 1);
    else if (words[i] != kFlag)
      continue;
    if (value.empty()) return Unexpected(BadRequest("kuberc file is not found"));
    return value;
  }
  return std::string();
}

// -v and --v, which count before the line is parsed.
int VerbosityIn(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i)
    for (const std::string_view flag : {"--v", "-v"}) {
      const std::string_view word = words[i];
      if (word == flag && i + 1 < words.size()) return std::atoi(words[i + 1].c_str());
      if (word.starts_with(flag) && word.size() > flag.size())
        return std::atoi(words[i].c_str() + flag.size() + (word[flag.size()] == '=' ? 1 : 0));
    }
  return 0;
}

const json::Array& ListIn(const json::Value& value, const char* name) {
  static const json::Array kNone;
  return value[name].is_array() ? value[name].as_array() : kNone;
}

Status CheckOptions(const json::Value& entry) {
  for (const json::Value& option : ListIn(entry, "options"))
    if (const std::string name(option["name"].string_or("")); name.starts_with('-'))
      return Unexpected(BadRequest("flag name " + name + " should be in long form without dashes"));
  return {};
}

Status CheckPreferences(const json::Value& file) {
  std::set<std::string> names;
  for (const json::Value& alias : ListIn(file, "aliases")) {
    const std::string name(alias["name"].string_or(""));
    const bool good = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
    if (!good) return Unexpected(BadRequest("invalid alias name, can only include alphabetical characters"));
    FLYBALL_TRY(CheckOptions(alias));
    if (!names.insert(name).second) return Unexpected(BadRequest("duplicate alias name " + name));
  }
  for (const json::Value& entry : ListIn(file, "defaults")) FLYBALL_TRY(CheckOptions(entry));
  return {};
}

// "--output", "--output=x", "-o", "-ox", or an o among one-letter flags.
bool IsGiven(const FlagSpec& flag, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--" + flag.name || word.starts_with("--" + flag.name + "=")) return true;
    if (flag.shorthand && word.size() > 1 && word[0] == '-' && word[1] == flag.shorthand) return true;
  }
  return false;
}

// The options as words, without those that are given. Fails, naming the flag, if the command has no such
// flag.
Result<std::vector<std::string>> OptionWords(const CommandNode& root, const CommandNode& command,
                                             const json::Value& entry, const std::vector<std::string>& words,
                                             const std::string& whose) {
  std::vector<std::string> out;
  for (const json::Value& option : ListIn(entry, "options")) {
    const std::string name(option["name"].string_or(""));
    const FlagSpec* flag = command.flags.Find(name);
    if (!flag) flag = root.flags.Find(name);
    if (!flag) return Unexpected(BadRequest("invalid " + whose));
    if (!IsGiven(*flag, words))
      out.push_back("--" + name + "=" + std::string(option["default"].string_or("")));
  }
  return out;
}

using Words = std::vector<std::string>;

// The words with an alias in place of its command; those of no alias as they are.
Result<Words> WithAlias(const CommandNode& root, const json::Value& file, Words words) {
  const auto first = FirstWord({&root.flags}, words);
  if (!first || root.Child(words[*first])) return words;
  for (const json::Value& alias : ListIn(file, "aliases")) {
    const std::string name(alias["name"].string_or(""));
    if (name != words[*first]) continue;
    const std::string target(alias["command"].string_or(""));
    Words rest = SplitWords(target);
    Words replacement = rest;
    const CommandNode& command = FindCommand(root, rest);
    if (&command == &root || !rest.empty())
      return Unexpected(BadRequest("command \"" + target + "\" not found to set alias \"" + name +
                                   "\": " + (rest.empty() ? "" : rest[0])));
    for (const json::Value& word : ListIn(alias, "prependArgs")) replacement.emplace_back(word.string_or(""));
    FLYBALL_ASSIGN(const Words options,
                   OptionWords(root, command, alias, words, "alias flag in alias " + name));
    replacement.insert(replacement.end(), options.begin(), options.end());
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(*first);
    words.insert(words.erase(at), replacement.begin(), replacement.end());
    for (const json::Value& word : ListIn(alias, "appendArgs")) words.emplace_back(word.string_or(""));
    return words;
  }
  return words;
}

// The words with the defaults of the command that they name, which are put before "--".
Result<Words> WithDefaults(const CommandNode& root, const json::Value& file, Words words) {
  Words rest = words;
  const CommandNode& command = FindCommand(root, rest);
  if (&command == &root || command.foreign) return words;
  for (const json::Value& entry : ListIn(file, "defaults")) {
    const std::string target(entry["command"].string_or(""));
    Words names = SplitWords(target);
    const CommandNode& meant = FindCommand(root, names);
    if (&meant == &root || !names.empty())
      std::cerr << "Warning: command \"" << target << "\" not found to set kuberc override\n";
    if (&meant != &command || !names.empty()) continue;
    FLYBALL_ASSIGN(const Words options,
                   OptionWords(root, command, entry, words, "flag for command " + target));
    words.insert(std::find(words.begin(), words.end(), "--"), options.begin(), options.end());
  }
  return words;
}

}  // namespace

Result<PreparedWords> WithPreferences(const CommandNode& root, std::vector<std::string> words) {
  PreparedWords out{.words = words};
  const char* gate = std::getenv("KUBECTL_KUBERC");
  if (words.empty() || (gate && std::string_view(gate) == "false")) return out;
  FLYBALL_ASSIGN(const std::string flag, KubercFlag(words));
  FLYBALL_ASSIGN(const KubercPath where, FindKuberc(flag));
  if (where.path.empty()) return out;
  auto file = ReadKuberc(where.path, VerbosityIn(words));
  if (!file && where.named) return Unexpected(file.error().Annotate("kuberc error kuberc"));
  if (!file && !file.error().Is(Reason::kNotFound))
    std::cerr << "kuberc: no preferences loaded from " << where.path << ": " << file.error().message()
              << "\n";
  if (!file || !*file) return out;
  if (!(*file)->complaint.empty())
    std::cerr << "kuberc: ignoring strict decoding error in " << where.path << ": " << (*file)->complaint
              << "\n";
  const json::Value& preference = (*file)->preference;
  FLYBALL_TRY(CheckPreferences(preference));
  FLYBALL_ASSIGN(out.plugin_policy, PluginPolicyIn(preference));
  const auto first = FirstWord({&root.flags}, words);
  const bool is_command = first && root.Child(words[*first]);
  // Defaults are not for aliases.
  FLYBALL_ASSIGN(out.words, is_command ? WithDefaults(root, preference, std::move(words))
                                       : WithAlias(root, preference, std::move(words)));
  return out;
}

}  // namespace flyball::cli
