#include "cli/programs/identity_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "api/values/duration.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"

namespace flyball::cli {
namespace {

constexpr const char* kAuthenticationGroup = "Authentication";
constexpr const char* kAuthorizationGroup = "Authorization";

template <typename T>
CLI::Option* Add(CLI::App& command, const char* group, const char* name, T& value, const char* help) {
  return command.add_option(name, value, help)->group(group);
}

// Comma-separated, and may be repeated.
CLI::Option* AddList(CLI::App& command, const char* group, const char* name, std::vector<std::string>& values,
                     const char* help) {
  return Add(command, group, name, values, help)->delimiter(',')->allow_extra_args(false);
}

bool AnySet(const std::vector<CLI::Option*>& options) {
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->count() > 0; });
}

Result<Duration> ReadDuration(const char* flag, const std::string& text) {
  const auto duration = api::ParseDuration(text);
  if (!duration) return Unexpected(BadRequest(std::string(flag) + ": " + duration.error().message()));
  return *duration;
}

}  // namespace

void IdentityFlags::Define(CLI::App& command, server::ApiServerOptions& options) {
  auto& authentication = options.authentication;
  Add(command, kAuthenticationGroup, "--token-auth-file", authentication.token_auth_file,
      "Lines of token,user,uid,\"group1,group2\"");
  anonymous_ = Add(command, kAuthenticationGroup, "--anonymous-auth", authentication.anonymous,
                   "Treat requests without credentials as system:anonymous; off with the mode AlwaysAllow")
                   ->capture_default_str();
  command
      .add_flag("--enable-bootstrap-token-auth", authentication.bootstrap_tokens,
                "Accept Secrets of type bootstrap.kubernetes.io/token in kube-system as bearer tokens")
      ->group(kAuthenticationGroup);
  Add(command, kAuthenticationGroup, "--authentication-config", authentication.config_file,
      "AuthenticationConfiguration: token issuers and anonymous access; followed as it changes. Excludes "
      "--oidc-*, and --anonymous-auth if it sets anonymous");
  DefineOidc(command, authentication.oidc);
  DefineRequestHeaders(command, authentication.request_header);
  authorization_.push_back(
      Add(command, kAuthorizationGroup, "--authorization-mode", authorization_mode_,
          "Comma-separated, asked in order: AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook")
          ->capture_default_str());
  Add(command, kAuthorizationGroup, "--authorization-config", options.authorization.config_file,
      "AuthorizationConfiguration: the chain of authorizers; followed as it changes. Excludes "
      "--authorization-mode and --authorization-webhook-*");
  DefineWebhooks(command, options);
}

void IdentityFlags::DefineOidc(CLI::App& command, server::OidcOptions& oidc) {
  const auto add = [&](const char* name, std::string& value, const char* help) {
    oidc_.push_back(Add(command, kAuthenticationGroup, name, value, help));
    return oidc_.back();
  };
  add("--oidc-issuer-url", oidc.issuer_url, "OpenID issuer (https) whose tokens are accepted");
  add("--oidc-client-id", oidc.client_id, "Audience its tokens must have");
  add("--oidc-ca-file", oidc.ca_file, "Authorities of the issuer's certificate; the system's if absent");
  add("--oidc-username-claim", oidc.username_claim, "Claim that is the user's name")->capture_default_str();
  add("--oidc-username-prefix", oidc.username_prefix,
      "Put before user names; if absent the issuer and '#', unless the claim is email; '-' is none");
  add("--oidc-groups-claim", oidc.groups_claim, "Claim with the user's groups, a name or a list");
  add("--oidc-groups-prefix", oidc.groups_prefix, "Put before group names");
  oidc_.push_back(AddList(command, kAuthenticationGroup, "--oidc-signing-algs", oidc.signing_algs,
                          "Accepted of RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512"));
  oidc_.back()->capture_default_str();
  oidc_.push_back(Add(command, kAuthenticationGroup, "--oidc-required-claim", required_claims_,
                      "claim=value that tokens must have; may be repeated")
                      ->allow_extra_args(false));
}

void IdentityFlags::DefineRequestHeaders(CLI::App& command, server::RequestHeaderOptions& headers) {
  Add(command, kAuthenticationGroup, "--requestheader-client-ca-file", headers.client_ca_file,
      "Authorities of proxies in front, whose headers name the user; followed as it changes");
  AddList(command, kAuthenticationGroup, "--requestheader-allowed-names", headers.allowed_names,
          "Common names of such proxies; if absent every certificate of the authorities");
  AddList(command, kAuthenticationGroup, "--requestheader-username-headers", headers.username_headers,
          "Headers with the user's name, such as X-Remote-User");
  AddList(command, kAuthenticationGroup, "--requestheader-uid-headers", headers.uid_headers,
          "Headers with the user's UID, such as X-Remote-Uid");
  AddList(command, kAuthenticationGroup, "--requestheader-group-headers", headers.group_headers,
          "Headers with the user's groups, such as X-Remote-Group");
  AddList(command, kAuthenticationGroup, "--requestheader-extra-headers-prefix",
          headers.extra_header_prefixes, "Prefixes of further headers, such as X-Remote-Extra-");
}

void IdentityFlags::DefineWebhooks(CLI::App& command, server::ApiServerOptions& options) {
  auto& webhook = options.authentication.webhook;
  Add(command, kAuthenticationGroup, "--authentication-token-webhook-config-file", webhook.config_file,
      "Kubeconfig of a server that knows bearer tokens (TokenReview)");
  Add(command, kAuthenticationGroup, "--authentication-token-webhook-version", webhook.version,
      "Version of TokenReview it speaks: v1 or v1beta1")
      ->capture_default_str();
  Add(command, kAuthenticationGroup, "--authentication-token-webhook-cache-ttl", token_cache_ttl_,
      "How long its answers are kept")
      ->capture_default_str();
  auto& authorization = options.authorization;
  const auto add = [&](const char* name, std::string& value, const char* help) {
    authorization_.push_back(Add(command, kAuthorizationGroup, name, value, help)->capture_default_str());
  };
  add("--authorization-webhook-config-file", authorization.webhook_config_file,
      "Kubeconfig of the server that the mode Webhook asks (SubjectAccessReview)");
  add("--authorization-webhook-version", authorization.webhook_version,
      "Version of SubjectAccessReview it speaks: v1 or v1beta1");
  add("--authorization-webhook-cache-authorized-ttl", authorized_ttl_, "How long an allowed answer is kept");
  add("--authorization-webhook-cache-unauthorized-ttl", unauthorized_ttl_, "How long any other is kept");
}

Status IdentityFlags::Read(server::ApiServerOptions& options) const {
  auto& authentication = options.authentication;
  auto& authorization = options.authorization;
  authentication.anonymous_set = anonymous_->count() > 0;
  authentication.oidc.any_set = AnySet(oidc_);
  authorization.other_flags_set = AnySet(authorization_);
  authorization.modes = SplitWords(authorization_mode_, ",");
  FLYBALL_ASSIGN(authentication.webhook.cache_ttl,
                 ReadDuration("--authentication-token-webhook-cache-ttl", token_cache_ttl_));
  FLYBALL_ASSIGN(authorization.webhook_authorized_ttl,
                 ReadDuration("--authorization-webhook-cache-authorized-ttl", authorized_ttl_));
  FLYBALL_ASSIGN(authorization.webhook_unauthorized_ttl,
                 ReadDuration("--authorization-webhook-cache-unauthorized-ttl", unauthorized_ttl_));
  for (const auto& pair : required_claims_) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos)
      return Unexpected(BadRequest("--oidc-required-claim: malformed pair, expect string=string"));
    authentication.oidc.required_claims.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  // Upstream: who may do everything should at least say who they are.
  const auto& modes = authorization.modes;
  const bool everything = authorization.config_file.empty() &&
                          std::find(modes.begin(), modes.end(), "AlwaysAllow") != modes.end();
  if (authentication.anonymous && everything) {
    log::Warning(
        "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You "
        "should use a different authorizer");
    authentication.anonymous = false;
  }
  return {};
}

}  // namespace flyball::cli
