#include "cel/formats/named_format.h"

#include <algorithm>
#include <initializer_list>

#include "base/values/ascii.h"
#include "cel/formats/url.h"
#include "cel/text/time.h"

namespace flyball::cel {
namespace {

constexpr std::string_view kLabelRegex = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomainRegex =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kLabel1035Regex = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kKeyRegex = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::string_view kKeyRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and "
    "end with an alphanumeric character";

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool IsLowerOrDigit(char c) {
  return IsLower(c) || (c >= '0' && c <= '9');
}
bool IsAlphanumericAny(char c) {
  return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z');
}

bool IsLabel(std::string_view s, bool letter_first = false) {
  if (s.empty() || !(letter_first ? IsLower(s[0]) : IsLowerOrDigit(s[0])) || !IsLowerOrDigit(s.back()))
    return false;
  return std::all_of(s.begin(), s.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsSubdomain(std::string_view s) {
  while (true) {
    const std::size_t dot = s.find('.');
    if (!IsLabel(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool IsKeyName(std::string_view s) {
  if (s.empty() || !IsAlphanumericAny(s[0]) || !IsAlphanumericAny(s.back())) return false;
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return IsAlphanumericAny(c) || c == '-' || c == '_' || c == '.'; });
}

std::string RegexProblem(std::string_view rule, std::string_view regex,
                         std::initializer_list<std::string_view> examples) {
  std::string out = std::string(rule) + " (e.g. ";
  bool first = true;
  for (std::string_view example : examples) {
    if (!first) out += " or ";
    first = false;
    out += "'" + std::string(example) + "', ";
  }
  return out + "regex used for validation is '" + std::string(regex) + "')";
}

std::string TooLong(std::size_t limit, std::string_view unit) {
  return "must be no more than " + std::to_string(limit) + " " + std::string(unit);
}

std::vector<std::string> ValidateLabel(std::string_view s) {
  std::vector<std::string> problems;
  if (s.size() > 63) problems.push_back(TooLong(63, "characters"));
  if (IsLabel(s)) return problems;
  if (IsSubdomain(s)) {
    problems.emplace_back("must not contain dots");
    return problems;
  }
  problems.push_back(
      RegexProblem("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
                   "and must start and end "
                   "with an alphanumeric character",
                   kLabelRegex, {"my-name", "123-abc"}));
  return problems;
}

std::vector<std::string> ValidateSubdomainIn(std::string_view s, std::string_view unit) {
  std::vector<std::string> problems;
  if (s.size() > 253) problems.push_back(TooLong(253, unit));
  if (!IsSubdomain(s)) problems.push_back(RegexProblem(kSubdomainRule, kSubdomainRegex, {"example.com"}));
  return problems;
}
std::vector<std::string> ValidateSubdomain(std::string_view s) {
  return ValidateSubdomainIn(s, "characters");
}

std::vector<std::string> ValidateLabel1035(std::string_view s) {
  std::vector<std::string> problems;
  if (s.size() > 63) problems.push_back(TooLong(63, "characters"));
  if (!IsLabel(s, true))
    problems.push_back(
        RegexProblem("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
                     "an alphabetic "
                     "character, and end with an alphanumeric character",
                     kLabel1035Regex, {"my-name", "abc-123"}));
  return problems;
}

std::vector<std::string> ValidateQualifiedName(std::string_view s) {
  std::vector<std::string> problems;
  const auto slashes = std::count(s.begin(), s.end(), '/');
  if (slashes > 1) {
    problems.push_back("a valid label key " +
                       RegexProblem(kKeyRule, kKeyRegex, {"MyName", "my.name", "123-abc"}) +
                       " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
    return problems;
  }
  std::string_view name = s;
  if (slashes == 1) {
    const std::string_view prefix = s.substr(0, s.find('/'));
    name = s.substr(prefix.size() + 1);
    if (prefix.empty())
      problems.emplace_back("prefix part must be non-empty");
    else
      for (const std::string& problem : ValidateSubdomainIn(prefix, "bytes"))
        problems.push_back("prefix part " + problem);
  }
  if (name.empty())
    problems.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    problems.push_back("name part " + TooLong(63, "bytes"));
  if (!IsKeyName(name))
    problems.push_back("name part " + RegexProblem(kKeyRule, kKeyRegex, {"MyName", "my.name", "123-abc"}));
  return problems;
}

// A generated name's prefix may end in a dash. Upstream puts an "a" for the last two characters.
std::string WithoutTrailingDash(std::string_view s) {
  if (s.size() > 1 && s.ends_with('-')) return std::string(s.substr(0, s.size() - 2)) + "a";
  return std::string(s);
}
std::vector<std::string> ValidateLabelPrefix(std::string_view s) {
  return ValidateLabel(WithoutTrailingDash(s));
}
std::vector<std::string> ValidateSubdomainPrefix(std::string_view s) {
  return ValidateSubdomain(WithoutTrailingDash(s));
}
std::vector<std::string> ValidateLabel1035Prefix(std::string_view s) {
  return ValidateLabel1035(WithoutTrailingDash(s));
}

std::vector<std::string> ValidateLabelValue(std::string_view s) {
  std::vector<std::string> problems;
  if (s.size() > 63) problems.push_back(TooLong(63, "bytes"));
  if (!s.empty() && !IsKeyName(s))
    problems.push_back(
        RegexProblem("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
                     "or '.', and must start "
                     "and end with an alphanumeric character",
                     "(" + std::string(kKeyRegex) + ")?", {"MyValue", "my_value", "12345"}));
  return problems;
}

std::vector<std::string> ValidateUri(std::string_view s) {
  std::string problem;
  if (IsRequestUri(s, &problem)) return {};
  return {problem};
}

std::vector<std::string> ValidateUuid(std::string_view s) {
  std::size_t i = 0;
  const auto is_hex = [](char c) { return IsLowerOrDigit(static_cast<char>(c | 32)) && (c | 32) <= 'f'; };
  for (std::size_t group : {8, 4, 4, 4, 12}) {
    if (i > 0 && i < s.size() && s[i] == '-') ++i;
    for (std::size_t k = 0; k < group; ++k, ++i)
      if (i >= s.size() || !(is_hex(s[i]) || (s[i] >= '0' && s[i] <= '9')))
        return {"does not match the UUID format"};
  }
  if (i != s.size()) return {"does not match the UUID format"};
  return {};
}

std::vector<std::string> ValidateByte(std::string_view s) {
  const auto is_digit = [](char c) { return IsAlphanumericAny(c) || c == '+' || c == '/'; };
  const std::size_t padding = s.ends_with("==") ? 2 : s.ends_with('=') ? 1 : 0;
  const std::string_view digits = s.substr(0, s.size() - padding);
  if (s.empty() || s.size() % 4 != 0 || !std::all_of(digits.begin(), digits.end(), is_digit))
    return {"invalid base64"};
  return {};
}

bool IsFullDate(std::string_view s) {
  return ParseGoTime("2006-01-02", s).has_value();
}

std::vector<std::string> ValidateDate(std::string_view s) {
  if (IsFullDate(s)) return {};
  return {"invalid date"};
}

bool IsClock(std::string_view s) {
  // hh:mm:ss, a fraction after any character, z or an offset. Lower case already.
  if (s.size() < 9 || s[2] != ':' || s[5] != ':') return false;
  for (std::size_t i : {0u, 1u, 3u, 4u, 6u, 7u})
    if (s[i] < '0' || s[i] > '9') return false;
  if (s.substr(0, 2) > "23" || s.substr(3, 2) > "59" || s.substr(6, 2) > "59") return false;
  std::string_view zone = s.substr(8);
  const auto is_zone = [](std::string_view z) {
    if (z == "z") return true;
    if (z.size() != 6 || (z[0] != '+' && z[0] != '-') || z[3] != ':') return false;
    return std::all_of(z.begin() + 1, z.end(), [](char c) { return c == ':' || (c >= '0' && c <= '9'); });
  };
  if (is_zone(zone)) return true;
  std::size_t digits = 1;
  while (digits < zone.size() && zone[digits] >= '0' && zone[digits] <= '9') ++digits;
  return digits > 1 && is_zone(zone.substr(digits));
}

std::vector<std::string> ValidateDateTime(std::string_view s) {
  const std::string lower = LowerCase(s);
  const std::string_view text = lower;
  const std::size_t t = text.find('t');
  if (text.size() < 4 || t == std::string_view::npos || !IsFullDate(text.substr(0, t)))
    return {"invalid datetime"};
  const std::string_view clock = text.substr(t + 1);
  if (!IsClock(clock.substr(0, clock.find('t')))) return {"invalid datetime"};
  return {};
}

}  // namespace

const std::vector<NamedFormat>& NamedFormats() {
  static const std::vector<NamedFormat> formats = {
      {"dns1123Label", "DNS1123Label", 30, ValidateLabel},
      {"dns1123Subdomain", "DNS1123Subdomain", 60, ValidateSubdomain},
      {"dns1035Label", "DNS1035Label", 30, ValidateLabel1035},
      {"qualifiedName", "QualifiedName", 60, ValidateQualifiedName},
      {"dns1123LabelPrefix", "DNS1123LabelPrefix", 30, ValidateLabelPrefix},
      {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, ValidateSubdomainPrefix},
      {"dns1035LabelPrefix", "DNS1035LabelPrefix", 30, ValidateLabel1035Prefix},
      {"labelValue", "LabelValue", 40, ValidateLabelValue},
      {"uri", "URI", 1103, ValidateUri},
      {"uuid", "uuid", 70, ValidateUuid},
      {"byte", "byte", 84, ValidateByte},
      {"date", "date", 71, ValidateDate},
      {"datetime", "datetime", 71, ValidateDateTime}};
  return formats;
}

const NamedFormat* FindNamedFormat(std::string_view name) {
  for (const NamedFormat& format : NamedFormats())
    if (format.name == name) return &format;
  return nullptr;
}

bool IsServiceAccountName(std::string_view name) {
  return ValidateSubdomain(name).empty();
}
bool IsNamespaceName(std::string_view name) {
  return ValidateLabel(name).empty();
}

}  // namespace flyball::cel
