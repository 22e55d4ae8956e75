// AuthenticationOptions: how requests are authenticated, by kube-apiserver's flags.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/run/clock.h"
#include "server/request/user.h"

namespace flyball::server {

class TrustedAuthorities;

// --oidc-*.
struct OidcOptions {
  std::string issuer_url{}, client_id{};
  std::string ca_file{};
  std::string username_claim = "sub";
  std::string username_prefix{};  // empty: the issuer and '#', unless the claim is email; "-": none
  std::string groups_claim{}, groups_prefix{};
  std::vector<std::string> signing_algs = {"RS256"};
  std::vector<std::pair<std::string, std::string>> required_claims{};
  bool any_set = false;  // whether one of the flags was given
};

// --authentication-token-webhook-*.
struct WebhookTokenOptions {
  std::string config_file{};  // kubeconfig; empty: none
  std::string version = "v1beta1";
  Duration cache_ttl = std::chrono::minutes(2);
};

// --requestheader-*.
struct RequestHeaderOptions {
  std::string client_ca_file{};  // empty: no proxy is believed
  std::vector<std::string> username_headers{}, uid_headers{}, group_headers{}, extra_header_prefixes{};
  std::vector<std::string> allowed_names{};  // common names; empty: every certificate of the authority
};

struct AuthenticationOptions {
  bool anonymous = true;                  // --anonymous-auth
  bool anonymous_set = false;             // whether the flag was given
  std::string token_auth_file{};          // empty: none
  std::map<std::string, User> tokens{};   // tokens the program made itself
  bool bootstrap_tokens = false;          // --enable-bootstrap-token-auth
  std::string config_file{};              // --authentication-config; excludes the oidc flags
  OidcOptions oidc{};                     // --oidc-*
  WebhookTokenOptions webhook{};          // --authentication-token-webhook-*
  RequestHeaderOptions request_header{};  // --requestheader-*
  // Whose client certificates name users. Null: what the connection has verified is believed.
  std::shared_ptr<TrustedAuthorities> client_authorities{};
  // Whose client certificates are those of proxies. Null: no headers are believed.
  std::shared_ptr<TrustedAuthorities> proxy_authorities{};
};

}  // namespace flyball::server
