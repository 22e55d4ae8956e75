#include "server/admission/pods/pod_security_config.h"

#include "api/rules/format.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

namespace standards = api::pod_security;

standards::Policy ReadDefault(StrictObject& defaults, const std::string& mode, api::FieldErrors& errors) {
  standards::Policy policy;
  const auto level = defaults.OptionalString(mode).value_or("");
  if (!level.empty()) {
    const auto parsed = standards::ParseLevel(level);
    if (parsed) policy.level = *parsed;
    if (!parsed)
      errors.Invalid(api::FieldPath(defaults.PathOf(mode)), level,
                     "must be one of privileged, baseline, restricted");
  }
  const auto version = defaults.OptionalString(mode + "-version").value_or("");
  if (!version.empty() && !standards::ParseVersion(version, policy.minor))
    errors.Invalid(api::FieldPath(defaults.PathOf(mode + "-version")), version,
                   "must be \"latest\" or \"v1.x\"");
  return policy;
}

using NameProblems = api::Problems (*)(std::string_view name);

api::Problems UsernameProblems(std::string_view name) {
  return name.empty() ? api::Problems{"username must not be empty"} : api::Problems{};
}

std::set<std::string, std::less<>> ReadExempt(StrictObject& exemptions, const std::string& field,
                                              NameProblems problems_of, api::FieldErrors& errors) {
  std::set<std::string, std::less<>> names;
  const auto list = exemptions.Strings(field);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const api::FieldPath path(exemptions.PathOf(field, i));
    const auto problems = problems_of(list[i]);
    std::string text;
    for (const auto& problem : problems) text += (text.empty() ? "" : ", ") + problem;
    if (!problems.empty()) {
      errors.Invalid(path, list[i], text);
    } else if (!names.insert(list[i]).second) {
      errors.Duplicate(path, list[i]);
    }
  }
  return names;
}

}  // namespace

Result<PodSecurityConfig> ReadPodSecurityConfig(const std::optional<std::string>& text) {
  PodSecurityConfig config;
  if (!text) return config;
  const std::string group = "pod-security.admission.config.k8s.io/";
  FLYBALL_ASSIGN(const json::Value file,
                 ParseStrictObject(*text, {group + "v1", group + "v1beta1", group + "v1alpha1"},
                                   "PodSecurityConfiguration"));
  std::vector<std::string> problems;
  api::FieldErrors errors;
  {
    StrictObject object(file, "", problems);
    object.String("apiVersion");
    object.String("kind");
    StrictObject defaults(object.ObjectOrEmpty("defaults"), "defaults", problems);
    config.defaults.enforce = ReadDefault(defaults, "enforce", errors);
    config.defaults.warn = ReadDefault(defaults, "warn", errors);
    config.defaults.audit = ReadDefault(defaults, "audit", errors);
    StrictObject exemptions(object.ObjectOrEmpty("exemptions"), "exemptions", problems);
    config.namespaces = ReadExempt(exemptions, "namespaces", api::DnsLabelProblems, errors);
    config.runtime_classes = ReadExempt(exemptions, "runtimeClasses", api::DnsSubdomainProblems, errors);
    config.usernames = ReadExempt(exemptions, "usernames", UsernameProblems, errors);
  }
  if (!problems.empty()) return Unexpected(StrictDecodingError(problems));
  if (!errors.empty()) return Unexpected(BadRequest(AggregateText(errors)));
  return config;
}

}  // namespace flyball::server
