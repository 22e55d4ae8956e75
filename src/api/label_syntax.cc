#include "api/label_syntax.h"

#include <algorithm>

#include "json/json.h"

namespace flyball::api {

namespace {

constexpr std::size_t kMaxNameBytes = 63;
constexpr std::size_t kMaxSubdomainBytes = 253;

constexpr std::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool IsLower(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsAlphanumeric(char c) {
  return IsLower(c) || (c >= 'A' && c <= 'Z');
}

bool IsName(std::string_view s) {
  if (s.empty() || !IsAlphanumeric(s.front()) || !IsAlphanumeric(s.back())) return false;
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsDnsLabel(std::string_view s) {
  if (s.empty() || !IsLower(s.front()) || !IsLower(s.back())) return false;
  return std::all_of(s.begin(), s.end(), [](char c) { return IsLower(c) || c == '-'; });
}

bool IsSubdomain(std::string_view s) {
  while (true) {
    const auto dot = s.find('.');
    if (!IsDnsLabel(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

void CheckPrefix(std::string_view prefix, std::vector<std::string>& out) {
  if (prefix.empty()) {
    out.emplace_back("prefix part must be non-empty");
    return;
  }
  if (prefix.size() > kMaxSubdomainBytes) out.emplace_back("prefix part must be no more than 253 bytes");
  if (!IsSubdomain(prefix)) out.push_back("prefix part " + std::string(kSubdomainRule));
}

}  // namespace

std::vector<std::string> LabelKeyProblems(std::string_view key) {
  std::vector<std::string> out;
  const auto slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    name = key.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      out.push_back("a qualified name " + std::string(kNameRule) +
                    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
      return out;
    }
    CheckPrefix(key.substr(0, slash), out);
  }
  if (name.empty()) out.emplace_back("name part must be non-empty");
  if (name.size() > kMaxNameBytes) out.emplace_back("name part must be no more than 63 bytes");
  if (!IsName(name)) out.push_back("name part " + std::string(kNameRule));
  return out;
}

std::vector<std::string> LabelValueProblems(std::string_view value) {
  std::vector<std::string> out;
  if (value.size() > kMaxNameBytes) out.emplace_back("must be no more than 63 bytes");
  if (!value.empty() && !IsName(value)) out.emplace_back(kValueRule);
  return out;
}

std::string InvalidValueText(std::string_view path, std::string_view value,
                             const std::vector<std::string>& problems) {
  std::string out(path);
  out += ": Invalid value: ";
  json::AppendQuoted(value, out);
  out += ": ";
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0) out += "; ";
    out += problems[i];
  }
  return out;
}

}  // namespace flyball::api
