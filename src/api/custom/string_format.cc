#include "api/custom/string_format.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <string>

#include "api/rules/format.h"
#include "api/values/base64.h"
#include "api/values/duration.h"
#include "api/values/ip_address.h"
#include "api/values/time.h"

namespace flyball::api {

namespace {

using Check = bool (*)(std::string_view);

bool Matches(const re2::RE2& pattern, std::string_view value) {
  return re2::RE2::FullMatch(re2::StringPiece(value.data(), value.size()), pattern);
}

bool IsDateTime(std::string_view value) {
  return ParseTime(value).has_value();
}

bool IsDate(std::string_view value) {
  constexpr std::size_t kLength = 10;  // 2006-01-02
  return value.size() == kLength && ParseTime(std::string(value) + "T00:00:00Z").has_value();
}

bool IsDuration(std::string_view value) {
  static const re2::RE2 words(
      R"((?i)\d+\s*(ns|us|µs|ms|s|m|h|d|w|(nano|micro|milli)?sec(ond)?s?|min(ute)?s?|hours?|days?|weeks?))");
  return ParseDuration(value).has_value() || Matches(words, value);
}

bool IsIpv4Text(std::string_view value) {
  return IsIpv4(value);
}

bool IsIpv6Text(std::string_view value) {
  return IsIpv6(value);
}

bool IsCidr(std::string_view value) {
  return ParseCidr(value).has_value();
}

bool IsMac(std::string_view value) {
  static const re2::RE2 pattern(
      "([0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}(([:-][0-9A-Fa-f]{2}){2}|([:-][0-9A-Fa-f]{2}){14})?)|"
      "([0-9A-Fa-f]{4}(\\.[0-9A-Fa-f]{4}){2}((\\.[0-9A-Fa-f]{4})|(\\.[0-9A-Fa-f]{4}){7})?)");
  return Matches(pattern, value);
}

bool IsUuid(std::string_view value) {
  static const re2::RE2 pattern("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  return Matches(pattern, value);
}

bool IsUuid3(std::string_view value) {
  static const re2::RE2 pattern("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  return Matches(pattern, value);
}

bool IsUuid4(std::string_view value) {
  static const re2::RE2 pattern(
      "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}");
  return Matches(pattern, value);
}

bool IsUuid5(std::string_view value) {
  static const re2::RE2 pattern(
      "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}");
  return Matches(pattern, value);
}

bool IsEmail(std::string_view value) {
  static const re2::RE2 pattern(R"([^\s@<>]+@[^\s@<>]+)");
  return Matches(pattern, value);
}

// Letters of other scripts are bytes beyond ASCII here.
bool IsHostLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

bool IsHostLabel(std::string_view label) {
  constexpr std::size_t kMaxLabel = 63;
  if (label.empty() || label.size() > kMaxLabel || !IsHostLetter(label.front())) return false;
  return std::all_of(label.begin(), label.end(), [](char c) { return IsHostLetter(c) || c == '-'; });
}

bool IsHostname(std::string_view value) {
  constexpr std::size_t kMaxHostname = 255;
  if (value.size() > kMaxHostname) return false;
  for (auto rest = value;;) {
    const auto dot = rest.find('.');
    if (!IsHostLabel(rest.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    rest.remove_prefix(dot + 1);
  }
}

bool IsUri(std::string_view value) {
  // What Go's url.ParseRequestURI takes: absolute, or a path from the root.
  static const re2::RE2 pattern(R"((/[^\s]*)|([a-zA-Z][a-zA-Z0-9+.-]*:[^\s]+))");
  return Matches(pattern, value);
}

bool IsByte(std::string_view value) {
  std::string bytes;
  std::size_t bad = 0;
  return DecodeBase64(value, bytes, bad);
}

bool IsHexColor(std::string_view value) {
  static const re2::RE2 pattern("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})");
  return Matches(pattern, value);
}

bool IsRgbColor(std::string_view value) {
  static const re2::RE2 pattern(
      R"(rgb\(\s*(25[0-5]|2[0-4]\d|[01]?\d?\d)\s*,\s*(25[0-5]|2[0-4]\d|[01]?\d?\d)\s*,\s*(25[0-5]|2[0-4]\d|[01]?\d?\d)\s*\))");
  return Matches(pattern, value);
}

bool IsObjectId(std::string_view value) {
  static const re2::RE2 pattern("[0-9a-fA-F]{24}");
  return Matches(pattern, value);
}

bool IsShortName(std::string_view value) {
  return DnsLabelProblems(value).empty();
}

bool IsLongName(std::string_view value) {
  return DnsSubdomainProblems(value).empty();
}

const std::map<std::string_view, Check>& Checks() {
  static const auto* const checks = new std::map<std::string_view, Check>{
      {"date-time", IsDateTime},
      {"datetime", IsDateTime},
      {"date", IsDate},
      {"duration", IsDuration},
      {"ipv4", IsIpv4Text},
      {"ipv6", IsIpv6Text},
      {"cidr", IsCidr},
      {"mac", IsMac},
      {"uuid", IsUuid},
      {"uuid3", IsUuid3},
      {"uuid4", IsUuid4},
      {"uuid5", IsUuid5},
      {"email", IsEmail},
      {"hostname", IsHostname},
      {"uri", IsUri},
      {"byte", IsByte},
      {"hexcolor", IsHexColor},
      {"rgbcolor", IsRgbColor},
      {"bsonobjectid", IsObjectId},
      {"k8s-short-name", IsShortName},
      {"k8s-long-name", IsLongName},
  };
  return *checks;
}

}  // namespace

bool MatchesStringFormat(std::string_view format, std::string_view value) {
  const auto it = Checks().find(format);
  return it == Checks().end() || it->second(value);
}

}  // namespace flyball::api
