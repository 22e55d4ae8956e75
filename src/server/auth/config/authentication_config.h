// AuthenticationConfiguration: the file of --authentication-config, and what the --oidc-* flags mean in its
// terms (upstream: apiserver.config.k8s.io).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"
#include "base/values/result.h"
#include "server/auth/authentication.h"
#include "server/auth/authentication_options.h"
#include "server/auth/config/config_expression.h"

namespace flyball::server {

// Where a part of the user comes from: one claim of the token, or a CEL expression over all.
struct ClaimMapping {
  std::string claim{};
  std::optional<std::string> prefix{};  // of username and groups
  std::string expression{};
};

struct ClaimValidationRule {
  std::string claim{}, required_value{};
  std::string expression{}, message{};
};

struct UserValidationRule {
  std::string expression{}, message{};
};

struct ExtraMapping {
  std::string key{}, value_expression{};
};

// One issuer of JSON Web Tokens and how its tokens become users.
struct JwtIssuerConfig {
  std::string url{};
  std::string discovery_url{};          // empty: <url>/.well-known/openid-configuration
  std::string certificate_authority{};  // PEM; empty: the system's
  std::vector<std::string> audiences{};
  std::string audience_match_policy{};
  std::string egress_selector_type{};
  std::vector<ClaimValidationRule> claim_validation_rules{};
  ClaimMapping username{}, groups{}, uid{};
  std::vector<ExtraMapping> extra{};
  std::vector<UserValidationRule> user_validation_rules{};
};

struct AuthenticationConfiguration {
  std::vector<JwtIssuerConfig> jwt{};
  std::optional<AnonymousAccess> anonymous{};
};

// YAML or JSON; BadRequest for what is not well-formed or has unknown fields.
Result<AuthenticationConfiguration> ParseAuthenticationConfiguration(std::string_view text);
// Upstream's rules. `service_account_issuers` may not be issuers here too.
api::FieldErrors ValidateAuthenticationConfiguration(const AuthenticationConfiguration& config,
                                                     const std::vector<std::string>& service_account_issuers);

// The expressions of an issuer, compiled. Those that are not given are null, or not in the lists.
struct JwtExpressions {
  struct Rule {
    ConfigExpressionPtr expression;
    std::string message;
  };
  struct Extra {
    std::string key;
    ConfigExpressionPtr value;
  };
  ConfigExpressionPtr username{}, groups{}, uid{};
  std::vector<Extra> extra{};
  std::vector<Rule> claim_rules{}, user_rules{};
};
// Requires a valid configuration.
JwtExpressions ExpressionsOf(const JwtIssuerConfig& config);

// The issuer these flags describe. BadRequest if the file of the CA cannot be read.
Result<JwtIssuerConfig> IssuerOfFlags(const OidcOptions& options);

// Every algorithm that may sign tokens: RS, ES and PS with 256, 384 and 512.
const std::vector<std::string>& AllSigningAlgorithms();

}  // namespace flyball::server
