#include "api/formats/string_format.h"

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

// Sum of the digits by their weights; X is ten.
int WeightedSum(std::string_view digits, int (*weight)(std::size_t)) {
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i)
    sum += weight(i) * (digits[i] == 'X' ? 10 : digits[i] - '0');
  return sum;
}

std::string Without(std::string_view value, bool (*unwanted)(char)) {
  std::string out;
  for (const char c : value)
    if (!unwanted(c)) out += c;
  return out;
}

std::string IsbnDigits(std::string_view value) {
  return Without(value, [](char c) { return c == '-' || c == ' ' || (c >= '\t' && c <= '\r'); });
}

bool IsIsbn10(std::string_view value) {
  static const re2::RE2 pattern("[0-9]{9}X|[0-9]{10}");
  const std::string digits = IsbnDigits(value);
  return Matches(pattern, digits) &&
         WeightedSum(digits, [](std::size_t i) { return static_cast<int>(i) + 1; }) % 11 == 0;
}

bool IsIsbn13(std::string_view value) {
  static const re2::RE2 pattern("[0-9]{13}");
  const std::string digits = IsbnDigits(value);
  return Matches(pattern, digits) &&
         WeightedSum(digits, [](std::size_t i) { return i % 2 ? 3 : 1; }) % 10 == 0;
}

bool IsIsbn(std::string_view value) {
  return IsIsbn10(value) || IsIsbn13(value);
}

// Every other digit from the right counts twice, the digits of what comes out being added (Luhn).
bool IsCreditCard(std::string_view value) {
  static const re2::RE2 pattern(
      "(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-"
      "9]{12}"
      "|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})["
      "0-9]{11}"
      "|6[27][0-9]{14})");
  const std::string digits = Without(value, [](char c) { return c < '0' || c > '9'; });
  if (!Matches(pattern, digits)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int digit = (digits[digits.size() - 1 - i] - '0') * (i % 2 ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 == 0;
}

bool IsSsn(std::string_view value) {
  static const re2::RE2 pattern("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}");
  return Matches(pattern, value);
}

bool IsAnything(std::string_view) {
  return true;
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

const std::map<std::string, Check, std::less<>>& Checks() {
  static const auto* const checks = new std::map<std::string, Check, std::less<>>{
      {"datetime", IsDateTime},
      {"isbn", IsIsbn},
      {"isbn10", IsIsbn10},
      {"isbn13", IsIsbn13},
      {"creditcard", IsCreditCard},
      {"ssn", IsSsn},
      {"password", IsAnything},
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
      {"k8sshortname", IsShortName},
      {"k8slongname", IsLongName},
  };
  return *checks;
}

// Dashes in the name of a format do not count.
std::string Normalized(std::string_view format) {
  return Without(format, [](char c) { return c == '-'; });
}

}  // namespace

bool MatchesStringFormat(std::string_view format, std::string_view value) {
  const auto it = Checks().find(Normalized(format));
  return it == Checks().end() || it->second(value);
}

bool IsSupportedFormat(std::string_view type, std::string_view format) {
  if (type == "integer") return format == "int32" || format == "int64";
  if (type == "number") return format == "float" || format == "double";
  return (type.empty() || type == "string") && Checks().contains(Normalized(format));
}

}  // namespace flyball::api
