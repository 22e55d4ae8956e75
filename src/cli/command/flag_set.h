// FlagSet: the flags of a command, parsed as github.com/spf13/pflag parses them, because kubectl does: flags
// and arguments in any order, --name=value or --name value, -n value, -nvalue, -abc; underscores in names are
// dashes; "--" ends the flags.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

struct FlagSpec {
  std::string name;  // without dashes
  char shorthand = 0;
  std::string type = "string";  // as pflag names it; the value is checked by it
  std::string default_text{}, help{};
  std::optional<std::string>
      alone{};  // the value of a flag given without one; such a flag takes none from the next word
  std::function<void(const std::string&)> set{};
  bool required = false;
  std::string deprecated{};  // not empty: said, on standard error, when the flag is given
};

// Thread-compatible.
class FlagSet {
 public:
  // "-o,--output", "--raw".
  void Add(const std::string& names, FlagSpec flag);
  const FlagSpec* Find(std::string_view name) const;
  const FlagSpec* Find(char shorthand) const;
  FlagSpec* Find(std::string_view name);
  const std::vector<FlagSpec>& all() const { return flags_; }

 private:
  std::vector<FlagSpec> flags_;
};

struct ParsedArguments {
  std::vector<std::string> arguments, after_dashes;
  bool has_dashes = false;
  bool help = false;
  std::vector<const FlagSpec*> given;
  std::string given_text;  // " --name=value" of each flag, in the order given
  bool Given(const FlagSpec& flag) const;
};

// Sets the values of the flags in the order given. Earlier sets hide flags of later ones. BadRequest in
// pflag's words.
Result<ParsedArguments> ParseArguments(const std::vector<const FlagSet*>& sets,
                                       const std::vector<std::string>& arguments);

// Where the first word is that is neither a flag nor the value of one; nothing if there is none before "--".
std::optional<std::size_t> FirstWord(const std::vector<const FlagSet*>& sets,
                                     const std::vector<std::string>& arguments);

// "a,b" and quoted parts, as pflag splits lists (CSV).
std::vector<std::string> SplitList(std::string_view text);

}  // namespace flyball::cli
