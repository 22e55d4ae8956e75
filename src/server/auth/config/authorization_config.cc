#include "server/auth/config/authorization_config.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "api/rules/format.h"
#include "api/values/duration.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "server/auth/config/config_versions.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

constexpr std::size_t kMaxMatchConditions = 64;
constexpr Duration kMaxWebhookTimeout = std::chrono::seconds(30);
// Upstream's modes, in its order.
constexpr std::array kModes = {"AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"};
constexpr std::string_view kNoAbac = "authorization mode ABAC is not supported by this server";

bool IsMode(std::string_view text) {
  return std::find(kModes.begin(), kModes.end(), text) != kModes.end();
}

WebhookAuthorizerConfig ReadWebhook(const json::Value& value, const std::string& path,
                                    std::vector<std::string>& problems) {
  WebhookAuthorizerConfig out;
  StrictObject object(value, path, problems);
  const auto nonzero = [](std::optional<Duration> given, Duration fallback) {
    return given.value_or(Duration::zero()) == Duration::zero() ? fallback : *given;
  };
  out.authorized_ttl = nonzero(object.Time("authorizedTTL"), out.authorized_ttl);
  out.unauthorized_ttl = nonzero(object.Time("unauthorizedTTL"), out.unauthorized_ttl);
  out.cache_authorized = object.Bool("cacheAuthorizedRequests").value_or(true);
  out.cache_unauthorized = object.Bool("cacheUnauthorizedRequests").value_or(true);
  out.timeout = object.Time("timeout").value_or(Duration::zero());
  out.review_version = object.String("subjectAccessReviewVersion");
  out.match_condition_review_version = object.String("matchConditionSubjectAccessReviewVersion");
  out.failure_policy = object.String("failurePolicy");
  {
    StrictObject connection(object.ObjectOrEmpty("connectionInfo"), object.PathOf("connectionInfo"),
                            problems);
    out.connection_type = connection.String("type");
    out.kubeconfig_file = connection.String("kubeConfigFile");
  }
  EachOf(object, "matchConditions", [&](const json::Value& item, const std::string& item_path) {
    StrictObject condition(item, item_path, problems);
    out.match_conditions.push_back(condition.String("expression"));
  });
  return out;
}

Result<AuthorizationConfiguration> ParseAuthorization(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document,
                 ParseStrictObject(text, kConfigVersions, "AuthorizationConfiguration"));
  AuthorizationConfiguration config;
  std::vector<std::string> problems;
  {
    StrictObject object(document, "", problems);
    object.String("apiVersion");
    object.String("kind");
    EachOf(object, "authorizers", [&](const json::Value& item, const std::string& path) {
      StrictObject authorizer(item, path, problems);
      AuthorizerConfig one;
      one.type = authorizer.String("type");
      one.name = authorizer.String("name");
      one.has_webhook = authorizer.Has("webhook");
      one.webhook = ReadWebhook(authorizer.ObjectOrEmpty("webhook"), authorizer.PathOf("webhook"), problems);
      config.authorizers.push_back(std::move(one));
    });
  }
  if (!problems.empty()) return Unexpected(StrictDecodingError(problems));
  return config;
}

void CheckTime(Duration value, const api::FieldPath& path, api::FieldErrors& errors) {
  if (value == Duration::zero()) errors.Required(path);
  if (value < Duration::zero()) errors.Invalid(path, api::FormatDuration(value), "must be > 0s");
}

void CheckOneOf(const std::string& value, std::vector<std::string> choices, const api::FieldPath& path,
                api::FieldErrors& errors) {
  if (value.empty()) return errors.Required(path);
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    errors.NotSupported(path, value, std::move(choices));
}

void CheckKubeconfigFile(const std::string& file, const api::FieldPath& path, api::FieldErrors& errors) {
  if (file.empty()) return errors.Required(path);
  if (!file.starts_with('/')) return errors.Invalid(path, file, "must be an absolute path");
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0)
    return errors.Invalid(path, file,
                          "error loading file: stat " + file + ": " + LowerCase(std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) errors.Invalid(path, file, "must be a regular file");
}

void CheckConnection(const WebhookAuthorizerConfig& webhook, const api::FieldPath& path,
                     api::FieldErrors& errors) {
  const auto type = path.Child("connectionInfo").Child("type");
  const auto file = path.Child("connectionInfo").Child("kubeConfigFile");
  if (webhook.connection_type.empty()) return errors.Required(type);
  if (webhook.connection_type == "KubeConfigFile")
    return CheckKubeconfigFile(webhook.kubeconfig_file, file, errors);
  if (webhook.connection_type == "InClusterConfig") {
    if (!webhook.kubeconfig_file.empty())
      errors.Invalid(file, webhook.kubeconfig_file, "can only be set when type=KubeConfigFile");
    // Upstream accepts it here and then has no use for it in kube-apiserver.
    return errors.Invalid(type, webhook.connection_type, "is not supported by the API server");
  }
  errors.NotSupported(type, webhook.connection_type, {"InClusterConfig", "KubeConfigFile"});
}

void CheckConditionVersion(const WebhookAuthorizerConfig& webhook, const api::FieldPath& path,
                           api::FieldErrors& errors) {
  const auto& conditions = webhook.match_conditions;
  const auto version = path.Child("matchConditionSubjectAccessReviewVersion");
  if (webhook.match_condition_review_version.empty()) {
    if (!conditions.empty()) errors.Required(version, "required if match conditions are specified");
  } else if (webhook.match_condition_review_version != "v1") {
    errors.NotSupported(version, webhook.match_condition_review_version, {"v1"});
  }
}

void CheckWebhook(const WebhookAuthorizerConfig& webhook, const api::FieldPath& path,
                  api::FieldErrors& errors) {
  if (webhook.timeout == Duration::zero())
    errors.Required(path.Child("timeout"));
  else if (webhook.timeout > kMaxWebhookTimeout || webhook.timeout < Duration::zero())
    errors.Invalid(path.Child("timeout"), api::FormatDuration(webhook.timeout), "must be > 0s and <= 30s");
  CheckTime(webhook.authorized_ttl, path.Child("authorizedTTL"), errors);
  CheckTime(webhook.unauthorized_ttl, path.Child("unauthorizedTTL"), errors);
  CheckOneOf(webhook.review_version, {"v1", "v1beta1"}, path.Child("subjectAccessReviewVersion"), errors);
  CheckConditionVersion(webhook, path, errors);
  CheckOneOf(webhook.failure_policy, {"NoOpinion", "Deny"}, path.Child("failurePolicy"), errors);
  CheckConnection(webhook, path, errors);
  CompileMatchConditions(webhook, path, errors);
}

api::FieldErrors Validate(const AuthorizationConfiguration& config) {
  api::FieldErrors errors;
  const api::FieldPath list("authorizers");
  if (config.authorizers.empty()) errors.Required(list, "at least one authorization mode must be defined");
  std::set<std::string> types, names;
  for (std::size_t i = 0; i < config.authorizers.size(); ++i) {
    const auto& one = config.authorizers[i];
    const auto path = list.Index(i);
    if (one.type.empty()) {
      errors.Required(path.Child("type"));
      continue;
    }
    if (!IsMode(one.type)) {
      std::vector<std::string> choices(kModes.begin(), kModes.end());
      std::sort(choices.begin(), choices.end());
      errors.NotSupported(path.Child("type"), one.type, std::move(choices));
      continue;
    }
    if (!types.insert(one.type).second && one.type != "Webhook") {
      errors.Duplicate(path.Child("type"), one.type);
      continue;
    }
    if (one.type == "ABAC") errors.Invalid(path.Child("type"), one.type, kNoAbac);
    if (one.name.empty()) {
      errors.Required(path.Child("name"));
    } else if (names.contains(one.name)) {
      errors.Duplicate(path.Child("name"), one.name);
    } else if (const auto problems = api::DnsSubdomainProblems(one.name); !problems.empty()) {
      errors.Invalid(path.Child("name"), one.name, "authorizer name is invalid: " + problems.front());
    }
    names.insert(one.name);
    if (one.type != "Webhook" && one.has_webhook)
      errors.Invalid(path.Child("webhook"), "non-null", "may only be specified when type=Webhook");
    if (one.type != "Webhook") continue;
    if (!one.has_webhook)
      errors.Required(path.Child("webhook"), "required when type=Webhook");
    else
      CheckWebhook(one.webhook, path, errors);
  }
  return errors;
}

std::string QuotedModes(const std::vector<std::string>& modes) {
  std::string out = "[";
  for (std::size_t i = 0; i < modes.size(); ++i) out += (i > 0 ? " " : "") + api::GoQuote(modes[i]);
  return out + "]";
}

AuthorizerConfig WebhookOfFlags(const AuthorizationOptions& options) {
  AuthorizerConfig one{"Webhook", "default", true, {}};
  one.webhook.authorized_ttl = options.webhook_authorized_ttl;
  one.webhook.unauthorized_ttl = options.webhook_unauthorized_ttl;
  // The flag's zero turns the cache off.
  one.webhook.cache_authorized = options.webhook_authorized_ttl > Duration::zero();
  one.webhook.cache_unauthorized = options.webhook_unauthorized_ttl > Duration::zero();
  one.webhook.timeout = kDefaultWebhookTimeout;
  one.webhook.review_version = options.webhook_version;
  one.webhook.failure_policy = "NoOpinion";
  one.webhook.connection_type = "KubeConfigFile";
  one.webhook.kubeconfig_file = options.webhook_config_file;
  return one;
}

}  // namespace

std::vector<ConfigExpressionPtr> CompileMatchConditions(const WebhookAuthorizerConfig& webhook,
                                                        const api::FieldPath& path,
                                                        api::FieldErrors& errors) {
  const auto& conditions = webhook.match_conditions;
  std::vector<ConfigExpressionPtr> out;
  if (conditions.size() > kMaxMatchConditions) {
    errors.TooMany(path.Child("matchConditions"), conditions.size(), kMaxMatchConditions);
    return out;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const auto expression = path.Child("matchConditions").Index(i).Child("expression");
    if (conditions[i].find_first_not_of(" \t\r\n") == std::string::npos)
      errors.Required(expression);
    else if (!seen.insert(conditions[i]).second)
      errors.Duplicate(expression, conditions[i]);
    else if (auto compiled = ConfigExpression::Compile(conditions[i], ExpressionScope::kRequest, true,
                                                       expression, errors))
      out.push_back(std::move(compiled));
  }
  return out;
}

Result<AuthorizationConfiguration> LoadAuthorizationConfiguration(std::string_view text,
                                                                  const std::set<std::string>& required) {
  auto config = ParseAuthorization(text);
  if (!config)
    return Unexpected(
        BadRequest("failed to load AuthorizationConfiguration from file: " + config.error().message()));
  if (const auto errors = Validate(*config); !errors.empty())
    return Unexpected(BadRequest(AggregateText(errors)));
  std::vector<std::string> problems;
  std::set<std::string> missing = required;
  for (const auto& one : config->authorizers) {
    missing.erase(one.type);
    if (one.type != "Webhook" && one.name != LowerCase(one.type))
      problems.push_back("expected name " + LowerCase(one.type) + " for authorizer " + one.type +
                         " instead of " + one.name);
  }
  if (!missing.empty()) {
    std::string list;
    for (const auto& type : missing) list += (list.empty() ? "" : " ") + type;
    problems.push_back("missing required types: [" + list + "]");
  }
  if (!problems.empty()) return Unexpected(BadRequest(AggregateText(problems)));
  return config;
}

Result<AuthorizationConfiguration> ConfigurationOfFlags(const AuthorizationOptions& options) {
  std::vector<std::string> problems;
  const auto& modes = options.modes;
  if (modes.empty()) problems.emplace_back("at least one authorization-mode must be passed");
  const std::set<std::string> set(modes.begin(), modes.end());
  AuthorizationConfiguration config;
  for (const auto& mode : modes) {
    if (!IsMode(mode))
      problems.push_back("authorization-mode " + api::GoQuote(mode) + " is not a valid mode");
    if (mode == "ABAC") problems.emplace_back(kNoAbac);
    if (mode == "Webhook" && options.webhook_config_file.empty())
      problems.emplace_back("authorization-mode Webhook's authorization config file not passed");
    config.authorizers.push_back(mode == "Webhook" ? WebhookOfFlags(options)
                                                   : AuthorizerConfig{mode, LowerCase(mode), false, {}});
  }
  if (!options.webhook_config_file.empty() && !set.contains("Webhook"))
    problems.emplace_back("cannot specify --authorization-webhook-config-file without mode Webhook");
  if (set.size() != modes.size())
    problems.push_back("authorization-mode " + QuotedModes(modes) + " has mode specified more than once");
  if (!problems.empty()) return Unexpected(BadRequest(AggregateText(problems)));
  return config;
}

}  // namespace flyball::server
