// Parses arguments as Go programs do, by a table of the flags that a program has. Values are checked by type
// and kept as text. Errors are worded as pflag and Go's flag package word them, because scripts look for
// that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::cli {

struct ForeignFlag {
  std::string_view section;  // of the help text
  std::string_view name;     // without dashes
  std::string_view type;     // as the program's help shows it: "bool", "int", "duration", "strings", ...
  std::string_view value;    // the default; "" if there is none
};

struct GivenFlag {
  const ForeignFlag* flag;
  std::string value;  // "true" for a bool without a value
};

struct ParsedFlags {
  std::vector<GivenFlag> given;        // in order
  std::vector<std::string> arguments;  // what is no flag
  bool help = false;
};

enum class FlagStyle {
  kPosix,  // github.com/spf13/pflag: --name, and -h
  kGo,     // Go's flag package: -name and --name are the same; the first argument ends the flags
};

// kPosix: underscores in names count as dashes, as in the Kubernetes programs. BadRequest in the package's
// words.
Result<ParsedFlags> ParseFlags(std::span<const ForeignFlag> flags, const std::vector<std::string>& arguments,
                               FlagStyle style);

// What Go says of a value of that type; nothing if it is one. Types that are texts take everything.
std::optional<std::string> FlagValueFault(std::string_view type, std::string_view text);

// "      --name type" as a line of a help text; bools have no type.
std::string FlagUsage(const ForeignFlag& flag);

}  // namespace flyball::cli
