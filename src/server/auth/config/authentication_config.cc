#include "server/auth/config/authentication_config.h"

#include <algorithm>
#include <set>

#include "api/rules/format.h"
#include "base/files/durable_file.h"
#include "base/values/ascii.h"
#include "net/tls/authorities.h"
#include "server/auth/config/config_versions.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

constexpr std::size_t kMaxIssuers = 64;
constexpr std::string_view kEmailUnverified =
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used "
    "in "
    "claimMappings.username.expression";

ClaimMapping ReadMapping(const json::Value& value, const std::string& path,
                         std::vector<std::string>& problems, bool prefixed) {
  StrictObject object(value, path, problems);
  ClaimMapping mapping;
  mapping.claim = object.String("claim");
  mapping.expression = object.String("expression");
  if (prefixed) mapping.prefix = object.OptionalString("prefix");
  return mapping;
}

void ReadIssuer(const json::Value& value, const std::string& path, std::vector<std::string>& problems,
                JwtIssuerConfig& out) {
  StrictObject object(value, path, problems);
  out.url = object.String("url");
  out.discovery_url = object.String("discoveryURL");
  out.certificate_authority = object.String("certificateAuthority");
  out.audiences = object.Strings("audiences");
  out.audience_match_policy = object.String("audienceMatchPolicy");
  out.egress_selector_type = object.String("egressSelectorType");
}

void ReadMappings(const json::Value& value, const std::string& path, std::vector<std::string>& problems,
                  JwtIssuerConfig& out) {
  StrictObject object(value, path, problems);
  out.username = ReadMapping(object.ObjectOrEmpty("username"), object.PathOf("username"), problems, true);
  out.groups = ReadMapping(object.ObjectOrEmpty("groups"), object.PathOf("groups"), problems, true);
  out.uid = ReadMapping(object.ObjectOrEmpty("uid"), object.PathOf("uid"), problems, false);
  EachOf(object, "extra", [&](const json::Value& item, const std::string& item_path) {
    StrictObject extra(item, item_path, problems);
    out.extra.push_back({extra.String("key"), extra.String("valueExpression")});
  });
}

JwtIssuerConfig ReadJwt(const json::Value& value, const std::string& path,
                        std::vector<std::string>& problems) {
  JwtIssuerConfig out;
  StrictObject object(value, path, problems);
  ReadIssuer(object.ObjectOrEmpty("issuer"), object.PathOf("issuer"), problems, out);
  ReadMappings(object.ObjectOrEmpty("claimMappings"), object.PathOf("claimMappings"), problems, out);
  EachOf(object, "claimValidationRules", [&](const json::Value& item, const std::string& item_path) {
    StrictObject rule(item, item_path, problems);
    out.claim_validation_rules.push_back({rule.String("claim"), rule.String("requiredValue"),
                                          rule.String("expression"), rule.String("message")});
  });
  EachOf(object, "userValidationRules", [&](const json::Value& item, const std::string& item_path) {
    StrictObject rule(item, item_path, problems);
    out.user_validation_rules.push_back({rule.String("expression"), rule.String("message")});
  });
  return out;
}

AnonymousAccess ReadAnonymous(const json::Value& value, std::vector<std::string>& problems) {
  AnonymousAccess out;
  StrictObject object(value, "anonymous", problems);
  out.enabled = object.Bool("enabled").value_or(false);
  EachOf(object, "conditions", [&](const json::Value& item, const std::string& path) {
    StrictObject condition(item, path, problems);
    out.paths.push_back(condition.String("path"));
  });
  return out;
}

std::string BracketedList(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i > 0 ? " " : "") + texts[i];
  return out + "]";
}

void CheckUrl(const std::string& url, const std::vector<std::string>& disallowed, const api::FieldPath& path,
              api::FieldErrors& errors) {
  if (std::find(disallowed.begin(), disallowed.end(), url) != disallowed.end())
    errors.Invalid(path, url, "URL must not overlap with disallowed issuers: " + BracketedList(disallowed));
  if (LowerCase(url.substr(0, url.find(':'))) != "https" || url.find("://") == std::string::npos)
    errors.Invalid(path, url, "URL scheme must be https");
  const auto after_scheme = url.find("://");
  const std::string rest = after_scheme == std::string::npos ? "" : url.substr(after_scheme + 3);
  if (rest.substr(0, rest.find_first_of("/?#")).find('@') != std::string::npos)
    errors.Invalid(path, url, "URL must not contain a username or password");
  const auto fragment = url.find('#');
  const std::string before_fragment = url.substr(0, fragment);
  const auto query = before_fragment.find('?');
  if (query != std::string::npos && query + 1 < before_fragment.size())
    errors.Invalid(path, url, "URL must not contain a query");
  if (fragment != std::string::npos && fragment + 1 < url.size())
    errors.Invalid(path, url, "URL must not contain a fragment");
}

std::string WithoutTrailingSlashes(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

void CheckAudiences(const JwtIssuerConfig& issuer, const api::FieldPath& path, api::FieldErrors& errors) {
  const auto list = path.Child("audiences"), policy = path.Child("audienceMatchPolicy");
  if (issuer.audiences.empty()) return errors.Required(list, "at least one " + list.text() + " is required");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < issuer.audiences.size(); ++i) {
    if (issuer.audiences[i].empty()) errors.Required(list.Index(i));
    if (!seen.insert(issuer.audiences[i]).second) errors.Duplicate(list.Index(i), issuer.audiences[i]);
  }
  const bool any = issuer.audience_match_policy == "MatchAny";
  if (issuer.audiences.size() > 1 && !any)
    errors.Invalid(policy, issuer.audience_match_policy,
                   "audienceMatchPolicy must be MatchAny for multiple audiences");
  if (issuer.audiences.size() == 1 && !issuer.audience_match_policy.empty() && !any)
    errors.Invalid(policy, issuer.audience_match_policy,
                   "audienceMatchPolicy must be empty or MatchAny for single audience");
}

void CheckIssuer(const JwtIssuerConfig& issuer, const std::vector<std::string>& disallowed,
                 const api::FieldPath& path, api::FieldErrors& errors) {
  if (issuer.url.empty())
    errors.Required(path.Child("url"));
  else
    CheckUrl(issuer.url, disallowed, path.Child("url"), errors);
  if (const auto& discovery = issuer.discovery_url; !discovery.empty()) {
    if (!issuer.url.empty() && WithoutTrailingSlashes(issuer.url) == WithoutTrailingSlashes(discovery))
      errors.Invalid(path.Child("discoveryURL"), discovery, "discoveryURL must be different from URL");
    CheckUrl(discovery, {}, path.Child("discoveryURL"), errors);
  }
  CheckAudiences(issuer, path, errors);
  if (!issuer.certificate_authority.empty())
    if (const auto parsed = net::CertificateAuthorities::Parse(issuer.certificate_authority); !parsed)
      errors.Invalid(path.Child("certificateAuthority"), "<omitted>", parsed.error().message());
  if (!issuer.egress_selector_type.empty())
    errors.Invalid(path.Child("egressSelectorType"), issuer.egress_selector_type,
                   "egress selectors are not supported by this server");
}

ConfigExpressionPtr CompileMapping(const std::string& text, const api::FieldPath& path,
                                   api::FieldErrors& errors) {
  return ConfigExpression::Compile(text, ExpressionScope::kClaims, false, path, errors);
}

// A rule of its own text only: a second one of the same is an error.
void CompileRule(const std::string& text, const std::string& message, ExpressionScope scope,
                 const api::FieldPath& path, std::set<std::string>& seen,
                 std::vector<JwtExpressions::Rule>& out, api::FieldErrors& errors) {
  if (!seen.insert(text).second) return errors.Duplicate(path, text);
  if (auto compiled = ConfigExpression::Compile(text, scope, true, path, errors))
    out.push_back({std::move(compiled), message});
}

void CheckClaimRules(const std::vector<ClaimValidationRule>& rules, const api::FieldPath& list,
                     JwtExpressions& out, api::FieldErrors& errors) {
  std::set<std::string> claims, expressions;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    const auto path = list.Index(i);
    if (!rule.claim.empty() && !rule.expression.empty()) {
      errors.Invalid(path, rule.claim, "claim and expression can't both be set");
    } else if (rule.claim.empty() && rule.expression.empty()) {
      errors.Required(path, "claim or expression is required");
    } else if (!rule.claim.empty()) {
      if (!rule.message.empty())
        errors.Invalid(path.Child("message"), rule.message, "may not be specified when claim is set");
      if (!claims.insert(rule.claim).second) errors.Duplicate(path.Child("claim"), rule.claim);
    } else {
      if (!rule.required_value.empty())
        errors.Invalid(path.Child("requiredValue"), rule.required_value,
                       "may not be specified when expression is set");
      CompileRule(rule.expression, rule.message, ExpressionScope::kClaims, path.Child("expression"),
                  expressions, out.claim_rules, errors);
    }
  }
}

ConfigExpressionPtr CheckPrefixed(const ClaimMapping& mapping, const api::FieldPath& path, bool required,
                                  api::FieldErrors& errors) {
  if (!mapping.claim.empty() && !mapping.expression.empty()) {
    errors.Invalid(path, "", "claim and expression can't both be set");
  } else if (mapping.claim.empty() && mapping.expression.empty()) {
    if (required) errors.Required(path, "claim or expression is required");
  } else if (!mapping.expression.empty()) {
    if (mapping.prefix)
      errors.Invalid(path.Child("prefix"), *mapping.prefix, "may not be specified when expression is set");
    return CompileMapping(mapping.expression, path.Child("expression"), errors);
  } else if (!mapping.prefix) {
    errors.Required(
        path.Child("prefix"),
        "prefix is required when claim is set. It can be set to an empty string to disable prefixing");
  }
  return nullptr;
}

bool IsKubernetesDomain(std::string_view key) {
  const std::string_view domain = key.substr(0, key.find('/') == std::string_view::npos ? 0 : key.find('/'));
  for (const std::string_view reserved : {"kubernetes.io", "k8s.io"})
    if (domain == reserved || domain.ends_with("." + std::string(reserved))) return true;
  return false;
}

// "acme.io/foo" (upstream: IsDomainPrefixedPath).
void CheckDomainPrefixedPath(const std::string& text, const api::FieldPath& path, api::FieldErrors& errors) {
  constexpr std::string_view kPathPunctuation = "/-._~%!$&'()*+,;=:";
  if (text.empty()) return errors.Required(path);
  const auto slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size())
    return errors.Invalid(path, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  const std::string host = text.substr(0, slash), rest = text.substr(slash + 1);
  api::AddProblems(api::DnsSubdomainProblems(host), path, host, errors);
  const auto allowed = [&](char c) {
    return IsAlphanumeric(c) || kPathPunctuation.find(c) != std::string_view::npos;
  };
  if (!std::all_of(rest.begin(), rest.end(), allowed))
    errors.Invalid(path, rest,
                   "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

void CheckExtraKey(const std::string& key, const api::FieldPath& path, api::FieldErrors& errors) {
  CheckDomainPrefixedPath(key, path, errors);
  if (key != LowerCase(key)) errors.Invalid(path, key, "must be lowercase");
  if (IsKubernetesDomain(key))
    errors.Invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
}

void CheckExtra(const std::vector<ExtraMapping>& mappings, const api::FieldPath& list, JwtExpressions& out,
                api::FieldErrors& errors) {
  std::set<std::string> keys;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const auto& [key, text] = mappings[i];
    const auto path = list.Index(i), value = path.Child("valueExpression");
    CheckExtraKey(key, path.Child("key"), errors);
    if (!keys.insert(key).second) {
      errors.Duplicate(path.Child("key"), key);
    } else if (text.empty()) {
      errors.Required(value);
    } else if (auto compiled = CompileMapping(text, value, errors)) {
      out.extra.push_back({key, std::move(compiled)});
    }
  }
}

// Whoever has not shown that an address is theirs could take anybody's name: some expression must ask.
bool AsksWhetherEmailIsVerified(const JwtExpressions& all) {
  const auto asks = [](const ConfigExpressionPtr& one) { return one->Selects("email_verified"); };
  return asks(all.username) ||
         std::any_of(all.extra.begin(), all.extra.end(), [&](const auto& e) { return asks(e.value); }) ||
         std::any_of(all.claim_rules.begin(), all.claim_rules.end(),
                     [&](const auto& rule) { return asks(rule.expression); });
}

void CheckMappings(const JwtIssuerConfig& issuer, const api::FieldPath& path, JwtExpressions& out,
                   api::FieldErrors& errors) {
  const auto username = path.Child("username"), uid = path.Child("uid");
  out.username = CheckPrefixed(issuer.username, username, true, errors);
  out.groups = CheckPrefixed(issuer.groups, path.Child("groups"), false, errors);
  if (!issuer.uid.claim.empty() && !issuer.uid.expression.empty())
    errors.Invalid(uid, "", "claim and expression can't both be set");
  else if (!issuer.uid.expression.empty())
    out.uid = CompileMapping(issuer.uid.expression, uid.Child("expression"), errors);
  CheckExtra(issuer.extra, path.Child("extra"), out, errors);
  if (out.username && out.username->Selects("email") && !AsksWhetherEmailIsVerified(out))
    errors.Invalid(username.Child("expression"), issuer.username.expression, kEmailUnverified);
}

void CheckUserRules(const std::vector<UserValidationRule>& rules, const api::FieldPath& list,
                    JwtExpressions& out, api::FieldErrors& errors) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto path = list.Index(i).Child("expression");
    if (rules[i].expression.empty())
      errors.Required(path);
    else
      CompileRule(rules[i].expression, rules[i].message, ExpressionScope::kUser, path, seen, out.user_rules,
                  errors);
  }
}

JwtExpressions CheckExpressions(const JwtIssuerConfig& jwt, const api::FieldPath& path,
                                api::FieldErrors& errors) {
  JwtExpressions out;
  CheckClaimRules(jwt.claim_validation_rules, path.Child("claimValidationRules"), out, errors);
  CheckMappings(jwt, path.Child("claimMappings"), out, errors);
  CheckUserRules(jwt.user_validation_rules, path.Child("userValidationRules"), out, errors);
  return out;
}

}  // namespace

Result<AuthenticationConfiguration> ParseAuthenticationConfiguration(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document,
                 ParseStrictObject(text, kConfigVersions, "AuthenticationConfiguration"));
  AuthenticationConfiguration config;
  std::vector<std::string> problems;
  {
    StrictObject object(document, "", problems);
    object.String("apiVersion");
    object.String("kind");
    EachOf(object, "jwt", [&](const json::Value& item, const std::string& path) {
      config.jwt.push_back(ReadJwt(item, path, problems));
    });
    if (const auto* anonymous = object.Object("anonymous"))
      config.anonymous = ReadAnonymous(*anonymous, problems);
  }
  if (!problems.empty()) return Unexpected(StrictDecodingError(problems));
  return config;
}

JwtExpressions ExpressionsOf(const JwtIssuerConfig& config) {
  api::FieldErrors none;
  return CheckExpressions(config, api::FieldPath("jwt"), none);
}

api::FieldErrors ValidateAuthenticationConfiguration(
    const AuthenticationConfiguration& config, const std::vector<std::string>& service_account_issuers) {
  api::FieldErrors errors;
  const api::FieldPath root("jwt");
  if (config.jwt.size() > kMaxIssuers) {
    errors.TooMany(root, config.jwt.size(), kMaxIssuers);
    return errors;
  }
  std::set<std::string> urls, discovery_urls;
  for (std::size_t i = 0; i < config.jwt.size(); ++i) {
    const auto& jwt = config.jwt[i];
    const auto path = root.Index(i);
    CheckIssuer(jwt, service_account_issuers, path.Child("issuer"), errors);
    CheckExpressions(jwt, path, errors);
    if (!urls.insert(jwt.url).second) errors.Duplicate(path.Child("issuer").Child("url"), jwt.url);
    if (!jwt.discovery_url.empty() && !discovery_urls.insert(jwt.discovery_url).second)
      errors.Duplicate(path.Child("issuer").Child("discoveryURL"), jwt.discovery_url);
  }
  if (config.anonymous && !config.anonymous->enabled && !config.anonymous->paths.empty())
    errors.InvalidOmitted(api::FieldPath("anonymous").Child("conditions"),
                          "enabled should be set to true when conditions are defined");
  return errors;
}

Result<JwtIssuerConfig> IssuerOfFlags(const OidcOptions& options) {
  JwtIssuerConfig issuer;
  issuer.url = options.issuer_url;
  issuer.audiences = {options.client_id};
  std::string prefix = options.username_prefix;
  // Upstream: names other than e-mail addresses might clash with those of other issuers.
  if (prefix.empty() && options.username_claim != "email") prefix = options.issuer_url + "#";
  if (prefix == "-") prefix.clear();
  issuer.username = {.claim = options.username_claim, .prefix = prefix};
  if (!options.groups_claim.empty())
    issuer.groups = {.claim = options.groups_claim, .prefix = options.groups_prefix};
  if (!options.ca_file.empty()) {
    FLYBALL_ASSIGN(issuer.certificate_authority, ReadFile(options.ca_file));
  }
  for (const auto& [claim, value] : options.required_claims)
    issuer.claim_validation_rules.push_back({.claim = claim, .required_value = value});
  return issuer;
}

const std::vector<std::string>& AllSigningAlgorithms() {
  static const std::vector<std::string> kAll = {"ES256", "ES384", "ES512", "PS256", "PS384",
                                                "PS512", "RS256", "RS384", "RS512"};
  return kAll;
}

}  // namespace flyball::server
