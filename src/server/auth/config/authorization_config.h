// AuthorizationConfiguration: the chain of authorizers, from the file of --authorization-config or from the
// older flags (upstream: apiserver.config.k8s.io).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "server/auth/config/config_expression.h"

namespace flyball::server {

// Of webhooks that come by flags.
inline constexpr Duration kDefaultWebhookTimeout = std::chrono::seconds(30);

struct WebhookAuthorizerConfig {
  Duration authorized_ttl = std::chrono::minutes(5);
  Duration unauthorized_ttl = std::chrono::seconds(30);
  bool cache_authorized = true, cache_unauthorized = true;
  Duration timeout{};
  std::string review_version{};  // of SubjectAccessReview: v1 or v1beta1
  std::string match_condition_review_version{};
  std::string failure_policy{};  // NoOpinion or Deny
  std::string connection_type{};
  std::string kubeconfig_file{};
  std::vector<std::string> match_conditions{};  // CEL expressions
};

struct AuthorizerConfig {
  std::string type{}, name{};
  bool has_webhook = false;
  WebhookAuthorizerConfig webhook{};
};

struct AuthorizationConfiguration {
  std::vector<AuthorizerConfig> authorizers{};
};

// The match conditions of a webhook, compiled. Errors are added at `path`.matchConditions; those in the list
// are in order.
std::vector<ConfigExpressionPtr> CompileMatchConditions(const WebhookAuthorizerConfig& webhook,
                                                        const api::FieldPath& path, api::FieldErrors& errors);

// Reads and checks a file's text by upstream's rules. Every type of `required` must be in it: on a reload
// those that need no other server stay. BadRequest otherwise.
Result<AuthorizationConfiguration> LoadAuthorizationConfiguration(std::string_view text,
                                                                  const std::set<std::string>& required);

// The flags --authorization-mode and --authorization-webhook-*.
struct AuthorizationOptions {
  std::string config_file{};  // --authorization-config; excludes the others
  std::vector<std::string> modes = {"Node", "RBAC"};
  std::string webhook_config_file{};
  std::string webhook_version = "v1beta1";
  Duration webhook_authorized_ttl = std::chrono::minutes(5);
  Duration webhook_unauthorized_ttl = std::chrono::seconds(30);
  bool other_flags_set = false;  // whether one of the others was given
};
// The chain these describe, without `config_file`. BadRequest in upstream's words.
Result<AuthorizationConfiguration> ConfigurationOfFlags(const AuthorizationOptions& options);

}  // namespace flyball::server
