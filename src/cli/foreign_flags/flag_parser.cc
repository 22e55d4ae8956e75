#include "cli/foreign_flags/flag_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "api/values/duration.h"

namespace flyball::cli {
namespace {

const ForeignFlag* FindFlag(std::span<const ForeignFlag> flags, std::string_view name, FlagStyle style) {
  std::string wanted(name);
  if (style == FlagStyle::kPosix) std::replace(wanted.begin(), wanted.end(), '_', '-');
  const auto at =
      std::find_if(flags.begin(), flags.end(), [&](const ForeignFlag& flag) { return flag.name == wanted; });
  return at == flags.end() ? nullptr : &*at;
}

// pflag's NoOptDefVal: such a flag never takes the next argument as its value. The help shows it as
// "version[=true]"; of bools it says nothing.
bool MayStandAlone(const ForeignFlag& flag) {
  return flag.type == "bool" || flag.type.find("[=") != std::string_view::npos;
}

std::string GoQuoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// strconv.ParseBool.
bool IsBool(std::string_view text) {
  for (const std::string_view word :
       {"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"})
    if (text == word) return true;
  return false;
}

// What strconv.ParseInt (base 0) says of it; none if it is a number of that many bits.
std::optional<std::string> IntegerFault(std::string_view text, int bits) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  int base = 10;
  for (const auto& [prefix, radix] :
       {std::pair<std::string_view, int>{"0x", 16}, {"0X", 16}, {"0b", 2}, {"0o", 8}})
    if (digits.starts_with(prefix)) {
      digits.remove_prefix(prefix.size());
      base = radix;
      break;
    }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  const std::string parsing = "strconv.ParseInt: parsing " + GoQuoted(text) + ": ";
  if (digits.empty() || digits[0] == '-' || end != digits.data() + digits.size() ||
      error == std::errc::invalid_argument)
    return parsing + "invalid syntax";
  const std::int64_t limit =
      bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (bits - 1)) - 1;
  if (error == std::errc::result_out_of_range || number > limit) return parsing + "value out of range";
  return std::nullopt;
}

std::optional<std::string> FloatFault(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return std::nullopt;
  return "strconv.ParseFloat: parsing " + GoQuoted(text) + ": invalid syntax";
}

// One run over the arguments.
class FlagRun {
 public:
  FlagRun(std::span<const ForeignFlag> flags, const std::vector<std::string>& arguments, FlagStyle style)
      : flags_(flags), arguments_(arguments), style_(style) {}

  Result<ParsedFlags> Parse() {
    for (at_ = 0; at_ < arguments_.size() && !parsed_.help; ++at_) {
      const std::string& argument = arguments_[at_];
      if (argument == "--" || (style_ == FlagStyle::kGo && !IsFlag(argument))) {
        TakeRest(argument == "--" ? at_ + 1 : at_);
        break;
      }
      if (!IsFlag(argument))
        parsed_.arguments.push_back(argument);
      else
        FLYBALL_TRY(TakeFlag(argument));
    }
    return std::move(parsed_);
  }

 private:
  static bool IsFlag(const std::string& argument) { return argument.size() > 1 && argument[0] == '-'; }

  void TakeRest(std::size_t from) {
    parsed_.arguments.insert(parsed_.arguments.end(), arguments_.begin() + static_cast<std::ptrdiff_t>(from),
                             arguments_.end());
  }

  Status TakeFlag(const std::string& argument) {
    const bool two_dashes = argument[1] == '-';
    if (style_ == FlagStyle::kPosix && !two_dashes) return TakeShorthand(argument);
    const std::string_view body = std::string_view(argument).substr(two_dashes ? 2 : 1);
    const std::size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    if (name.empty() || name[0] == '-') return Unexpected(BadRequest("bad flag syntax: " + argument));
    const ForeignFlag* flag = FindFlag(flags_, name, style_);
    if (!flag) return NoSuchFlag(name);
    if (equals != std::string_view::npos) return Set(*flag, std::string(body.substr(equals + 1)));
    if (MayStandAlone(*flag)) return Set(*flag, "true");
    if (at_ + 1 == arguments_.size()) return NeedsArgument(name);
    return Set(*flag, arguments_[++at_]);
  }

  // Of the one-letter flags there is -v (klog) and -h.
  Status TakeShorthand(const std::string& argument) {
    const ForeignFlag* flag = FindFlag(flags_, argument.substr(1, 1), style_);
    if (argument[1] == 'h') return NoSuchFlag("help");
    if (!flag)
      return Unexpected(BadRequest("unknown shorthand flag: '" + argument.substr(1, 1) + "' in " + argument));
    std::string value = argument.substr(2);
    if (value.starts_with('=')) value.erase(0, 1);
    if (!value.empty()) return Set(*flag, value);
    if (at_ + 1 == arguments_.size())
      return Unexpected(BadRequest("flag needs an argument: '" + argument.substr(1, 1) + "' in " + argument));
    return Set(*flag, arguments_[++at_]);
  }

  Status NoSuchFlag(std::string_view name) {
    if (name == "help" || (style_ == FlagStyle::kGo && name == "h")) {
      parsed_.help = true;
      return {};
    }
    const std::string text(name);
    return Unexpected(BadRequest(style_ == FlagStyle::kGo ? "flag provided but not defined: -" + text
                                                          : "unknown flag: --" + text));
  }

  Status NeedsArgument(std::string_view name) const {
    return Unexpected(BadRequest(
        "flag needs an argument: " + std::string(style_ == FlagStyle::kGo ? "-" : "--") + std::string(name)));
  }

  Status Set(const ForeignFlag& flag, std::string value) {
    if (const auto fault = FlagValueFault(flag.type, value)) return InvalidValue(flag, value, *fault);
    parsed_.given.push_back({&flag, std::move(value)});
    return {};
  }

  Status InvalidValue(const ForeignFlag& flag, const std::string& value, const std::string& fault) const {
    const std::string name(flag.name);
    if (style_ == FlagStyle::kGo)
      return Unexpected(
          BadRequest((flag.type == "bool" ? "invalid boolean value " + GoQuoted(value) + " for -"
                                          : "invalid value " + GoQuoted(value) + " for flag -") +
                     name + ": parse error"));
    const std::string shown = name == "v" ? "-v, --v" : "--" + name;
    return Unexpected(
        BadRequest("invalid argument " + GoQuoted(value) + " for " + GoQuoted(shown) + " flag: " + fault));
  }

  const std::span<const ForeignFlag> flags_;
  const std::vector<std::string>& arguments_;
  const FlagStyle style_;
  std::size_t at_ = 0;
  ParsedFlags parsed_;
};

}  // namespace

std::optional<std::string> FlagValueFault(std::string_view type, std::string_view text) {
  if (type == "bool" && !IsBool(text))
    return "strconv.ParseBool: parsing " + GoQuoted(text) + ": invalid syntax";
  if (type == "int" || type == "int64") return IntegerFault(text, 64);
  if (type == "int32" || type == "Level") return IntegerFault(text, 32);
  if (type == "float" || type == "float32" || type == "float64") return FloatFault(text);
  if (type == "duration" && !api::ParseDuration(text)) return "time: invalid duration " + GoQuoted(text);
  return std::nullopt;
}

Result<ParsedFlags> ParseFlags(std::span<const ForeignFlag> flags, const std::vector<std::string>& arguments,
                               FlagStyle style) {
  return FlagRun(flags, arguments, style).Parse();
}

std::string FlagUsage(const ForeignFlag& flag) {
  std::string line = flag.name == "v" ? "  -v, --" : "      --";
  line += flag.name;
  if (flag.type != "bool") line += " " + std::string(flag.type);
  return line;
}

}  // namespace flyball::cli
