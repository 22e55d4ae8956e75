#include "cel/formats/semver.h"

#include <algorithm>

#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

bool OnlyDigits(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool OnlyAlphanumeric(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::vector<std::string_view> SplitParts(std::string_view s, char separator, std::size_t limit = SIZE_MAX) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < limit) {
    const std::size_t at = s.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(s.substr(0, at));
    s = s.substr(at + 1);
  }
  parts.push_back(s);
  return parts;
}

// One of the three numbers. `name`: "Major".
bool ParseVersionNumber(std::string_view s, std::string name, std::uint64_t* number, std::string* problem) {
  if (!OnlyDigits(s)) {
    std::string lower = name;
    lower[0] = static_cast<char>(lower[0] + 32);
    *problem = "Invalid character(s) found in " + lower + " number " + QuoteGo(s);
    return false;
  }
  if (s.size() > 1 && s[0] == '0') {
    *problem = name + " number must not contain leading zeroes " + QuoteGo(s);
    return false;
  }
  const auto parsed = ParseGoUint(s);
  if (!parsed) {
    *problem = "strconv.ParseUint: parsing " + QuoteGo(s) +
               (s.empty() ? ": invalid syntax" : ": value out of range");
    return false;
  }
  *number = *parsed;
  return true;
}

bool ParsePrerelease(std::string_view s, Semver& version, std::string* problem) {
  Semver::Identifier identifier{std::string(s), 0, false};
  if (s.empty()) {
    *problem = "Prerelease is empty";
    return false;
  }
  if (OnlyDigits(s)) {
    if (s.size() > 1 && s[0] == '0') {
      *problem = "Numeric PreRelease version must not contain leading zeroes " + QuoteGo(s);
      return false;
    }
    const auto number = ParseGoUint(s);
    if (!number) {
      *problem = "strconv.ParseUint: parsing " + QuoteGo(s) + ": value out of range";
      return false;
    }
    identifier.number = *number;
    identifier.is_number = true;
  } else if (!OnlyAlphanumeric(s)) {
    *problem = "Invalid character(s) found in prerelease " + QuoteGo(s);
    return false;
  }
  version.prerelease.push_back(std::move(identifier));
  return true;
}

// "v1.2" becomes "1.2.0"; leading zeros go.
std::optional<std::string> NormalizeVersion(std::string_view s, std::string* problem) {
  if (s.starts_with('v')) s.remove_prefix(1);
  std::vector<std::string> parts;
  for (std::string_view part : SplitParts(s, '.', 3)) {
    std::string text(part);
    if (text.size() > 1) {
      text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
      if (text.empty() || text[0] < '0' || text[0] > '9') text.insert(0, "0");
    }
    parts.push_back(std::move(text));
  }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos) {
      *problem = "short version cannot contain PreRelease/Build meta data";
      return std::nullopt;
    }
    parts.resize(3, "0");
  }
  return parts[0] + "." + parts[1] + "." + parts[2];
}

int CompareIdentifiers(const Semver::Identifier& a, const Semver::Identifier& b) {
  if (a.is_number != b.is_number) return a.is_number ? -1 : 1;
  if (a.is_number) return a.number < b.number ? -1 : a.number > b.number;
  return a.text < b.text ? -1 : a.text > b.text;
}

}  // namespace

std::optional<Semver> ParseSemver(std::string_view text, bool normalize, std::string* problem) {
  std::string normalized;
  if (normalize) {
    auto result = NormalizeVersion(text, problem);
    if (!result) return std::nullopt;
    normalized = std::move(*result);
    text = normalized;
  }
  if (text.empty()) {
    *problem = "Version string empty";
    return std::nullopt;
  }
  const auto parts = SplitParts(text, '.', 3);
  if (parts.size() != 3) {
    *problem = "No Major.Minor.Patch elements found";
    return std::nullopt;
  }
  Semver version;
  if (!ParseVersionNumber(parts[0], "Major", &version.major, problem) ||
      !ParseVersionNumber(parts[1], "Minor", &version.minor, problem))
    return std::nullopt;
  std::string_view patch = parts[2], build, prerelease;
  const std::size_t plus = patch.find('+');
  if (plus != std::string_view::npos) {
    build = patch.substr(plus + 1);
    patch = patch.substr(0, plus);
  }
  const std::size_t dash = patch.find('-');
  if (dash != std::string_view::npos) {
    prerelease = patch.substr(dash + 1);
    patch = patch.substr(0, dash);
  }
  if (!ParseVersionNumber(patch, "Patch", &version.patch, problem)) return std::nullopt;
  if (dash != std::string_view::npos)
    for (std::string_view part : SplitParts(prerelease, '.'))
      if (!ParsePrerelease(part, version, problem)) return std::nullopt;
  if (plus != std::string_view::npos)
    for (std::string_view part : SplitParts(build, '.')) {
      if (part.empty())
        *problem = "Build meta data is empty";
      else if (!OnlyAlphanumeric(part))
        *problem = "Invalid character(s) found in build meta data " + QuoteGo(part);
      if (part.empty() || !OnlyAlphanumeric(part)) return std::nullopt;
      version.build.emplace_back(part);
    }
  return version;
}

int Semver::Compare(const Semver& other) const {
  for (auto member : {&Semver::major, &Semver::minor, &Semver::patch})
    if (this->*member != other.*member) return this->*member > other.*member ? 1 : -1;
  if (prerelease.empty() || other.prerelease.empty())
    return static_cast<int>(prerelease.empty()) - static_cast<int>(other.prerelease.empty());
  const std::size_t common = std::min(prerelease.size(), other.prerelease.size());
  for (std::size_t i = 0; i < common; ++i)
    if (const int order = CompareIdentifiers(prerelease[i], other.prerelease[i])) return order;
  if (prerelease.size() == other.prerelease.size()) return 0;
  return prerelease.size() < other.prerelease.size() ? -1 : 1;
}

std::string Semver::ToString() const {
  std::string out = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  for (std::size_t i = 0; i < prerelease.size(); ++i) out += (i ? "." : "-") + prerelease[i].text;
  for (std::size_t i = 0; i < build.size(); ++i) out += (i ? "." : "+") + build[i];
  return out;
}

}  // namespace flyball::cel
