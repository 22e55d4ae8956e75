#include "server/audit/audit_policy.h"

#include <algorithm>
#include <array>

#include "api/rules/format.h"
#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

using api::FieldErrors;
using api::FieldPath;
using Names = std::vector<std::string>;

constexpr std::array<std::string_view, 4> kLevelNames = {"None", "Metadata", "Request", "RequestResponse"};
constexpr std::array<std::string_view, kAuditStages> kStageNames = {"RequestReceived", "ResponseStarted",
                                                                    "ResponseComplete", "Panic"};

bool HasName(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Reads a policy. Unlike other files, one with unknown fields is used all the same, with a warning, as
// upstream does.
class PolicyReader {
 public:
  std::vector<AuditRule> Read(const json::Value& value, AuditDecision& otherwise) {
    StrictObject root(value, "", problems);
    root.String("apiVersion");
    root.String("kind");
    root.Object("metadata");
    otherwise.omitted = ReadStages(root, "omitStages");
    otherwise.omit_managed_fields = root.Bool("omitManagedFields").value_or(false);
    std::vector<AuditRule> rules;
    const auto& list = root.List("rules");
    for (std::size_t i = 0; i < list.size(); ++i)
      rules.push_back(ReadRule(list[i], root.PathOf("rules", i), otherwise));
    return rules;
  }

  std::vector<std::string> problems;
  FieldErrors errors;

 private:
  AuditRule ReadRule(const json::Value& value, const std::string& path, const AuditDecision& otherwise) {
    StrictObject object(value, path, problems);
    AuditRule rule;
    rule.decision.level = ReadLevel(object.String("level"), FieldPath(object.PathOf("level")));
    rule.users = object.Strings("users");
    rule.groups = object.Strings("userGroups");
    rule.verbs = object.Strings("verbs");
    rule.namespaces = object.Strings("namespaces");
    rule.non_resource_urls = object.Strings("nonResourceURLs");
    CheckUrls(rule.non_resource_urls, FieldPath(object.PathOf("nonResourceURLs")));
    const auto& resources = object.List("resources");
    for (std::size_t i = 0; i < resources.size(); ++i)
      rule.resources.push_back(
          ReadResources(resources[i], object.PathOf("resources", i), FieldPath(object.PathOf("resources"))));
    rule.decision.omitted = otherwise.omitted | ReadStages(object, "omitStages");
    rule.decision.omit_managed_fields =
        object.Bool("omitManagedFields").value_or(otherwise.omit_managed_fields);
    if (!rule.non_resource_urls.empty() && (!rule.resources.empty() || !rule.namespaces.empty()))
      errors.Invalid(FieldPath(object.PathOf("nonResourceURLs")),
                     json::Array(rule.non_resource_urls.begin(), rule.non_resource_urls.end()),
                     "rules cannot apply to both regular resources and non-resource URLs");
    return rule;
  }

  AuditLevel ReadLevel(const std::string& text, const FieldPath& path) {
    const auto* it = std::find(kLevelNames.begin(), kLevelNames.end(), text);
    if (it != kLevelNames.end()) return static_cast<AuditLevel>(it - kLevelNames.begin());
    if (text.empty())
      errors.Required(path);
    else
      errors.NotSupported(path, text, Names(kLevelNames.begin(), kLevelNames.end()));
    return AuditLevel::kNone;
  }

  AuditStages ReadStages(StrictObject& object, std::string_view name) {
    AuditStages stages = 0;
    const auto names = object.Strings(name);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto* it = std::find(kStageNames.begin(), kStageNames.end(), names[i]);
      if (it == kStageNames.end())
        errors.Invalid(FieldPath(object.PathOf(name, i)), names[i],
                       "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic");
      else
        stages |= StageBit(static_cast<AuditStage>(it - kStageNames.begin()));
    }
    return stages;
  }

  void CheckUrls(const Names& urls, const FieldPath& path) {
    for (std::size_t i = 0; i < urls.size(); ++i) {
      const std::string& url = urls[i];
      if (url == "*") continue;
      if (!url.starts_with("/"))
        errors.Invalid(path.Index(i), url, "non-resource URL rules must begin with a '/' character");
      if (const auto star = url.find('*'); star != std::string::npos && star + 1 < url.size())
        errors.Invalid(path.Index(i), url,
                       "non-resource URL wildcards '*' must be the final character of the rule");
    }
  }

  AuditResources ReadResources(const json::Value& value, const std::string& path, const FieldPath& list) {
    StrictObject object(value, path, problems);
    AuditResources out{object.String("group"), object.Strings("resources"), object.Strings("resourceNames")};
    if (!out.group.empty() && out.group != "*") {
      const auto wrong = api::DnsSubdomainProblems(out.group);
      std::string text;
      for (const auto& one : wrong) text += (text.empty() ? "" : ",") + one;
      if (!wrong.empty()) errors.Invalid(list.Child("group"), out.group, text);
    }
    if (!out.names.empty() && out.resources.empty())
      errors.Invalid(list.Child("resourceNames"), json::Array(out.names.begin(), out.names.end()),
                     "using resourceNames requires at least one resource");
    return out;
  }
};

bool PathMatches(std::string_view path, std::string_view spec) {
  if (spec == "*" || spec == path) return true;
  if (!spec.ends_with("*")) return false;
  while (spec.ends_with("*")) spec.remove_suffix(1);
  return path.starts_with(spec);
}

bool ResourceMatches(std::string_view spec, const AuthorizationAttributes& attributes) {
  const std::string whole = attributes.subresource.empty()
                                ? attributes.resource
                                : attributes.resource + "/" + attributes.subresource;
  if (spec == whole || spec == "*") return true;
  if (!attributes.subresource.empty() && spec.starts_with("*/") && spec.substr(2) == attributes.subresource)
    return true;
  return spec.ends_with("/*") && spec.substr(0, spec.size() - 2) == attributes.resource;
}

bool MatchesResources(const AuditRule& rule, const AuthorizationAttributes& attributes) {
  if (!attributes.is_resource) return false;
  if (!rule.namespaces.empty() && !HasName(rule.namespaces, attributes.namespace_name)) return false;
  if (rule.resources.empty()) return true;
  return std::any_of(rule.resources.begin(), rule.resources.end(), [&](const AuditResources& r) {
    if (r.group != attributes.group && r.group != "*") return false;
    if (r.resources.empty()) return true;
    if (!r.names.empty() && !HasName(r.names, attributes.name)) return false;
    return std::any_of(r.resources.begin(), r.resources.end(),
                       [&](const std::string& spec) { return ResourceMatches(spec, attributes); });
  });
}

bool MatchesUser(const AuditRule& rule, const User* user) {
  if (!rule.users.empty() && (!user || !HasName(rule.users, user->name))) return false;
  if (rule.groups.empty()) return true;
  return user && std::any_of(user->groups.begin(), user->groups.end(),
                             [&](const std::string& group) { return HasName(rule.groups, group); });
}

bool Matches(const AuditRule& rule, const AuthorizationAttributes& attributes) {
  if (!MatchesUser(rule, attributes.user)) return false;
  if (!rule.verbs.empty() && !HasName(rule.verbs, attributes.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) return MatchesResources(rule, attributes);
  if (rule.non_resource_urls.empty()) return true;
  return !attributes.is_resource &&
         std::any_of(rule.non_resource_urls.begin(), rule.non_resource_urls.end(),
                     [&](const std::string& spec) { return PathMatches(attributes.path, spec); });
}

}  // namespace

std::string_view AuditLevelName(AuditLevel level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

std::string_view AuditStageName(AuditStage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

Result<AuditPolicy> AuditPolicy::Parse(std::string_view text) {
  auto value = ParseStrictObject(text, {"audit.k8s.io/v1"}, "Policy");
  if (!value) return Unexpected(BadRequest("failed decoding: " + value.error().message()));
  AuditPolicy policy;
  PolicyReader reader;
  policy.rules_ = reader.Read(*value, policy.otherwise_);
  const auto fatal = [](const std::string& problem) { return !problem.starts_with("unknown field"); };
  const auto wrong = std::find_if(reader.problems.begin(), reader.problems.end(), fatal);
  if (wrong != reader.problems.end()) return Unexpected(BadRequest("failed decoding: " + *wrong));
  if (!reader.problems.empty())
    log::Warning("Audit policy contains errors, falling back to lenient decoding",
                 {{"error", StrictDecodingError(reader.problems).message()}});
  if (!reader.errors.empty()) return Unexpected(BadRequest(AggregateText(reader.errors)));
  if (policy.rules_.empty()) return Unexpected(BadRequest("loaded illegal policy with 0 rules"));
  return policy;
}

Result<AuditPolicy> AuditPolicy::Load(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text)
    return Unexpected(
        BadRequest("loading audit policy file: failed to read file path: " + text.error().message()));
  auto policy = Parse(*text);
  if (policy) return policy;
  return Unexpected(
      BadRequest("loading audit policy file: " + policy.error().message() + ": from file " + path));
}

AuditDecision AuditPolicy::Decide(const AuthorizationAttributes& attributes) const {
  for (const AuditRule& rule : rules_)
    if (Matches(rule, attributes)) return rule.decision;
  return otherwise_;
}

}  // namespace flyball::server
