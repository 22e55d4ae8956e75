#include "cli/command/flag_set.h"

#include <algorithm>
#include <iostream>

#include "base/values/ascii.h"
#include "cli/foreign_flags/flag_parser.h"

namespace flyball::cli {
namespace {

const FlagSpec* FindIn(const std::vector<const FlagSet*>& sets, std::string_view name) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  for (const FlagSet* set : sets)
    if (const FlagSpec* flag = set->Find(std::string_view(wanted))) return flag;
  return nullptr;
}

const FlagSpec* FindIn(const std::vector<const FlagSet*>& sets, char shorthand) {
  for (const FlagSet* set : sets)
    if (const FlagSpec* flag = set->Find(shorthand)) return flag;
  return nullptr;
}

bool IsFlagWord(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

// One run over the words.
class ArgumentRun {
 public:
  ArgumentRun(const std::vector<const FlagSet*>& sets, const std::vector<std::string>& words)
      : sets_(sets), words_(words) {}

  Result<ParsedArguments> Parse() {
    for (at_ = 0; at_ < words_.size() && !parsed_.help; ++at_) {
      const std::string& word = words_[at_];
      if (word == "--") {
        parsed_.has_dashes = true;
        parsed_.after_dashes.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end());
        break;
      }
      if (!IsFlagWord(word))
        parsed_.arguments.push_back(word);
      else
        FLYBALL_TRY(word[1] == '-' ? TakeLong(word) : TakeShort(word));
    }
    return std::move(parsed_);
  }

 private:
  Status TakeLong(const std::string& word) {
    const std::string_view body = std::string_view(word).substr(2);
    const std::size_t equals = body.find('=');
    const std::string name(body.substr(0, equals));
    if (name.empty() || name[0] == '-') return Unexpected(BadRequest("bad flag syntax: " + word));
    const FlagSpec* flag = FindIn(sets_, name);
    if (!flag && name == "help") return AskForHelp();
    if (!flag) return Unexpected(BadRequest("unknown flag: --" + name));
    if (equals != std::string_view::npos) return Set(*flag, std::string(body.substr(equals + 1)));
    if (flag->alone) return Set(*flag, *flag->alone);
    if (at_ + 1 == words_.size()) return Unexpected(BadRequest("flag needs an argument: --" + name));
    return Set(*flag, words_[++at_]);
  }

  // -abc: flags that stand alone, the last of which may have a value.
  Status TakeShort(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const FlagSpec* flag = FindIn(sets_, word[i]);
      if (!flag && word[i] == 'h') return AskForHelp();
      const std::string rest = word.substr(i);
      if (!flag)
        return Unexpected(
            BadRequest("unknown shorthand flag: '" + std::string(1, word[i]) + "' in -" + rest));
      if (i + 2 < word.size() && word[i + 1] == '=') return Set(*flag, word.substr(i + 2));
      if (flag->alone) {
        FLYBALL_TRY(Set(*flag, *flag->alone));
        continue;
      }
      if (i + 1 < word.size()) return Set(*flag, word.substr(i + 1));
      if (at_ + 1 == words_.size())
        return Unexpected(
            BadRequest("flag needs an argument: '" + std::string(1, word[i]) + "' in -" + rest));
      return Set(*flag, words_[++at_]);
    }
    return {};
  }

  Status AskForHelp() {
    parsed_.help = true;
    return {};
  }

  Status Set(const FlagSpec& flag, const std::string& value) {
    if (const auto fault = FlagValueFault(flag.type, value)) {
      const std::string shown =
          (flag.shorthand ? "-" + std::string(1, flag.shorthand) + ", --" : "--") + flag.name;
      return Unexpected(
          BadRequest("invalid argument \"" + value + "\" for \"" + shown + "\" flag: " + *fault));
    }
    flag.set(value);
    if (!flag.deprecated.empty())
      std::cerr << "Flag --" << flag.name << " has been deprecated, " << flag.deprecated << "\n";
    parsed_.given.push_back(&flag);
    parsed_.given_text += " --" + flag.name + "=" + value;
    return {};
  }

  const std::vector<const FlagSet*>& sets_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  ParsedArguments parsed_;
};

}  // namespace

void FlagSet::Add(const std::string& names, FlagSpec flag) {
  for (const std::string& name : SplitText(names, ',')) {
    if (name.starts_with("--"))
      flag.name = name.substr(2);
    else
      flag.shorthand = name[1];
  }
  flags_.push_back(std::move(flag));
}

const FlagSpec* FlagSet::Find(std::string_view name) const {
  for (const FlagSpec& flag : flags_)
    if (flag.name == name) return &flag;
  return nullptr;
}
FlagSpec* FlagSet::Find(std::string_view name) {
  return const_cast<FlagSpec*>(std::as_const(*this).Find(name));
}
const FlagSpec* FlagSet::Find(char shorthand) const {
  for (const FlagSpec& flag : flags_)
    if (flag.shorthand == shorthand) return &flag;
  return nullptr;
}

bool ParsedArguments::Given(const FlagSpec& flag) const {
  return std::find(given.begin(), given.end(), &flag) != given.end();
}

Result<ParsedArguments> ParseArguments(const std::vector<const FlagSet*>& sets,
                                       const std::vector<std::string>& arguments) {
  return ArgumentRun(sets, arguments).Parse();
}

std::optional<std::size_t> FirstWord(const std::vector<const FlagSet*>& sets,
                                     const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return std::nullopt;
    if (!word.starts_with("-")) {
      if (!word.empty()) return i;
      continue;
    }
    if (word.find('=') != std::string::npos) continue;
    // A flag that is not known is taken to have a value, as cobra does.
    const FlagSpec* flag = word.starts_with("--") ? FindIn(sets, std::string_view(word).substr(2))
                           : word.size() == 2     ? FindIn(sets, word[1])
                                                  : nullptr;
    const bool help = word == "--help" || word == "-h";
    const bool takes_value = !help && (word.starts_with("--") || word.size() == 2) && !(flag && flag->alone);
    if (takes_value) ++i;
  }
  return std::nullopt;
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts(1);
  if (text.empty()) return {};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"')
      parts.back().push_back(text[++i]);
    else if (c == '"' && (quoted || parts.back().empty()))
      quoted = !quoted;
    else if (c == ',' && !quoted)
      parts.emplace_back();
    else
      parts.back().push_back(c);
  }
  return parts;
}

}  // namespace flyball::cli
