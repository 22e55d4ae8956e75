#include "api/pod_security/pod_security.h"

#include <algorithm>
#include <charconv>

#include "api/pod_security/policy_checks.h"

namespace flyball::api::pod_security {

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kPrivileged:
      return "privileged";
    case Level::kBaseline:
      return "baseline";
    case Level::kRestricted:
      return "restricted";
  }
  return {};
}

std::optional<Level> ParseLevel(std::string_view text) {
  for (const auto level : {Level::kPrivileged, Level::kBaseline, Level::kRestricted})
    if (text == LevelName(level)) return level;
  return std::nullopt;
}

std::string Policy::ToString() const {
  return std::string(LevelName(level)) + ":" + (minor ? "v1." + std::to_string(*minor) : "latest");
}

bool ParseVersion(std::string_view text, std::optional<int>& minor) {
  minor.reset();
  if (text == "latest") return true;
  if (!text.starts_with("v1.")) return false;
  text.remove_prefix(3);
  int number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool padded = text.size() > 1 && text[0] == '0';
  if (ec != std::errc() || end != text.data() + text.size() || number < 0 || padded) return false;
  minor = number;
  return true;
}

std::vector<Violation> Evaluate(const Policy& policy, const json::Value& metadata, const json::Value& spec) {
  std::vector<Violation> violations;
  if (policy.level == Level::kPrivileged) return violations;
  const Pod pod{metadata, spec, std::min(policy.minor.value_or(kLatestMinor), kLatestMinor)};
  const bool restricted = policy.level == Level::kRestricted;
  const auto run = [&](const Check& check) {
    if (pod.minor < check.since) return;
    if (auto violation = check.run(pod)) violations.push_back(std::move(*violation));
  };
  const auto overridden = [&](const Check& check) {
    const auto stronger = RestrictedChecks();
    return restricted && std::any_of(stronger.begin(), stronger.end(), [&](const Check& other) {
             return other.overrides == check.id && pod.minor >= other.since;
           });
  };
  for (const auto& check : BaselineChecks())
    if (!overridden(check)) run(check);
  if (restricted)
    for (const auto& check : RestrictedChecks()) run(check);
  return violations;
}

std::string Details(const std::vector<Violation>& violations) {
  std::vector<std::string> parts;
  for (const auto& violation : violations)
    parts.push_back(violation.detail.empty() ? violation.reason
                                             : violation.reason + " (" + violation.detail + ")");
  return JoinText(parts, ", ");
}

std::string Reasons(const std::vector<Violation>& violations) {
  std::vector<std::string> parts;
  for (const auto& violation : violations) parts.push_back(violation.reason);
  return JoinText(parts, ", ");
}

}  // namespace flyball::api::pod_security
