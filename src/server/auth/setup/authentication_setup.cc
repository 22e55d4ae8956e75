#include "server/auth/setup/authentication_setup.h"

#include <algorithm>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "base/values/ascii.h"
#include "server/auth/bootstrap_tokens.h"
#include "server/auth/remote/jwt_authenticators.h"
#include "server/auth/remote/webhook_token_authenticator.h"
#include "server/auth/request_header.h"
#include "server/auth/setup/reload_metrics.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

// How long a new configuration may take to reach its issuers, and how long after a failure it is tried again
// (upstream: UpdateAuthenticationConfigTimeout and the interval of its file watch).
constexpr Duration kUpdatePatience = std::chrono::minutes(1);
constexpr Duration kUpdateRetry = std::chrono::minutes(1);

bool SameAnonymous(const std::optional<AnonymousAccess>& a, const std::optional<AnonymousAccess>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->enabled == b->enabled && a->paths == b->paths;
}

Status CheckExclusions(const AuthenticationOptions& options) {
  const auto& oidc = options.oidc;
  if (!options.config_file.empty() && oidc.any_set)
    return Unexpected(BadRequest("authentication-config file and oidc-* flags are mutually exclusive"));
  if (options.config_file.empty() && oidc.any_set && (oidc.issuer_url.empty() || oidc.client_id.empty()))
    return Unexpected(BadRequest(
        "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"));
  const auto& known = AllSigningAlgorithms();
  for (const auto& algorithm : oidc.signing_algs)
    if (std::find(known.begin(), known.end(), algorithm) == known.end())
      return Unexpected(BadRequest("oidc: unsupported signing alg: \"" + algorithm + "\""));
  return {};
}

Result<AuthenticationConfiguration> LoadConfiguration(const AuthenticationOptions& options,
                                                      std::string& text) {
  AuthenticationConfiguration config;
  if (!options.config_file.empty()) {
    const auto failed = [&](const Error& error) {
      return Unexpected(BadRequest("failed to load authentication configuration from file \"" +
                                   options.config_file + "\": " + error.message()));
    };
    auto read = ReadFile(options.config_file);
    if (!read) return failed(read.error());
    auto parsed = ParseAuthenticationConfiguration(*read);
    if (!parsed) return failed(parsed.error());
    text = std::move(*read);
    config = std::move(*parsed);
  } else if (!options.oidc.issuer_url.empty()) {
    FLYBALL_ASSIGN(JwtIssuerConfig issuer, IssuerOfFlags(options.oidc));
    config.jwt.push_back(std::move(issuer));
  }
  if (config.anonymous && options.anonymous_set)
    return Unexpected(
        BadRequest("anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is "
                   "configured in authentication configuration file"));
  return config;
}

class ConfiguredAuthentication final : public Authentication {
 public:
  ConfiguredAuthentication(const AuthenticationOptions& options, const AuthenticationParts& parts)
      : parts_(parts), reloads_(std::make_shared<Reloads>(options.config_file, parts)) {}

  Status Build(const AuthenticationOptions& options) {
    FLYBALL_TRY(CheckExclusions(options));
    std::string text;
    FLYBALL_ASSIGN(const AuthenticationConfiguration config, LoadConfiguration(options, text));
    if (const auto errors = ValidateAuthenticationConfiguration(config, parts_.service_account_issuers);
        !errors.empty())
      return Unexpected(BadRequest("invalid authentication configuration: " + AggregateText(errors)));
    AuthenticatorChain::Methods methods;
    AddRequestMethods(options, methods);
    FLYBALL_TRY(AddTokenMethods(options, config, methods));
    auto anonymous = config.anonymous.value_or(AnonymousAccess{options.anonymous});
    chain_ = std::make_unique<AuthenticatorChain>(std::move(methods), parts_.service_accounts.audiences(),
                                                  std::move(anonymous));
    return Follow(config, std::move(text));
  }

  ~ConfiguredAuthentication() override { Stop(); }

  const AuthenticatorChain& chain() const override { return *chain_; }

  void Stop() override {
    reloads_->Stop();
    calls_.Stop();
  }

 private:
  void AddRequestMethods(const AuthenticationOptions& options, AuthenticatorChain::Methods& methods) const {
    const Clock& clock = parts_.executor.clock();
    const auto& proxy = options.request_header;
    for (const auto* names : {&proxy.username_headers, &proxy.uid_headers, &proxy.group_headers})
      for (const std::string& name : *names) methods.header_names.push_back(LowerCase(name));
    for (const std::string& prefix : proxy.extra_header_prefixes)
      methods.header_prefixes.push_back(LowerCase(prefix));
    if (options.proxy_authorities)
      methods.requests.push_back(
          NewRequestHeaderAuthenticator(options.request_header, options.proxy_authorities, clock));
    methods.requests.push_back(options.client_authorities
                                   ? NewCertificateAuthenticator(options.client_authorities, clock)
                                   : NewCertificateAuthenticator());
  }

  // In upstream's order.
  Status AddTokenMethods(const AuthenticationOptions& options, const AuthenticationConfiguration& config,
                         AuthenticatorChain::Methods& methods) {
    auto& tokens = methods.tokens;
    if (!options.tokens.empty()) tokens.push_back(NewTokenAuthenticator(options.tokens));
    if (!options.token_auth_file.empty()) {
      FLYBALL_ASSIGN(auto file, NewTokenFileAuthenticator(options.token_auth_file));
      tokens.push_back(std::move(file));
    }
    tokens.push_back(parts_.service_accounts.NewAuthenticator());
    if (options.bootstrap_tokens)
      tokens.push_back(NewBootstrapTokenAuthenticator(parts_.catalog, parts_.executor.clock()));
    if (!options.config_file.empty() || !config.jwt.empty()) {
      const bool from_file = !options.config_file.empty();
      auto jwt =
          std::make_unique<JwtAuthenticators>(from_file ? AllSigningAlgorithms() : options.oidc.signing_algs,
                                              IssuerContext{parts_.executor, calls_, parts_.metrics});
      jwt->Set(config.jwt);
      jwt_ = jwt.get();
      tokens.push_back(std::move(jwt));
    }
    if (!options.webhook.config_file.empty()) {
      FLYBALL_ASSIGN(auto webhook,
                     NewWebhookTokenAuthenticator(options.webhook, parts_.service_accounts.audiences(),
                                                  {parts_.executor, parts_.random, calls_}));
      tokens.push_back(std::move(webhook));
    }
    return {};
  }

  // What follows the file. Outlives this object while a timer holds it; Stop makes it idle.
  struct Reloads : std::enable_shared_from_this<Reloads> {
    Reloads(std::string file_path, const AuthenticationParts& p)
        : path(std::move(file_path)),
          executor(p.executor),
          issuers(p.service_account_issuers),
          metrics("authentication", p.metrics, p.executor.clock()) {}

    const std::string path;
    Executor& executor;
    const std::vector<std::string> issuers;
    const ReloadMetrics metrics;
    Mutex mu;
    JwtAuthenticators* jwt FLYBALL_GUARDED_BY(mu) = nullptr;  // null: stopped
    std::string current FLYBALL_GUARDED_BY(mu);               // the text that is in force, or was refused
    std::optional<AnonymousAccess> anonymous FLYBALL_GUARDED_BY(mu);

    void Stop() {
      MutexLock lock(mu);
      jwt = nullptr;
    }

    void Check() {
      MutexLock lock(mu);
      if (!jwt) return;
      auto text = ReadFile(path);
      if (!text) return Failed("failed to read authentication config file", text.error().message());
      if (*text == current) return;
      const auto config = ParseAuthenticationConfiguration(*text);
      if (!config) {
        current = *text;  // it will not get better by trying again
        return Failed("failed to load authentication config", config.error().message());
      }
      auto errors = ValidateAuthenticationConfiguration(*config, issuers);
      if (!SameAnonymous(anonymous, config->anonymous))
        errors.Forbidden(api::FieldPath("anonymous"), "changed from initial configuration file");
      if (!errors.empty()) {
        current = *text;
        return Failed("failed to validate authentication config", AggregateText(errors));
      }
      current = *text;
      jwt->Replace(config->jwt, kUpdatePatience,
                   [self = shared_from_this()](const Status& outcome) { self->Replaced(outcome); });
    }

    void Failed(const char* what, const std::string& why) const {
      log::Error(what, {{"file", path}, {"error", why}});
      metrics.Record(false);
    }

    void Replaced(const Status& outcome) {
      // Posted: Replace may tell at once, while the lock is held.
      executor.Post([self = shared_from_this(), outcome] {
        if (outcome) {
          log::Info("reloaded authentication config", {{"file", self->path}});
          return self->metrics.Record(true);
        }
        // Overtaken by a newer file, or the server stops.
        if (outcome.error().Is(Reason::kCancelled)) return;
        self->Failed("failed to update authentication config", outcome.error().message());
        {
          MutexLock lock(self->mu);
          self->current.clear();
        }
        self->executor.PostAfter(kUpdateRetry, [weak = self->weak_from_this()] {
          if (const auto again = weak.lock()) again->Check();
        });
      });
    }
  };

  Status Follow(const AuthenticationConfiguration& config, std::string text) {
    if (reloads_->path.empty() || !parts_.files) return {};
    {
      MutexLock lock(reloads_->mu);
      reloads_->jwt = jwt_;
      reloads_->current = std::move(text);
      reloads_->anonymous = config.anonymous;
    }
    return parts_.files->Watch({reloads_->path}, [weak = std::weak_ptr(reloads_)] {
      if (const auto reloads = weak.lock()) reloads->Check();
    });
  }

  const AuthenticationParts parts_;
  RemoteCalls calls_;
  const std::shared_ptr<Reloads> reloads_;
  JwtAuthenticators* jwt_ = nullptr;  // in the chain
  std::unique_ptr<AuthenticatorChain> chain_;
};

}  // namespace

Result<std::unique_ptr<Authentication>> Authentication::Make(const AuthenticationOptions& options,
                                                             const AuthenticationParts& parts) {
  auto made = std::make_unique<ConfiguredAuthentication>(options, parts);
  FLYBALL_TRY(made->Build(options));
  return std::unique_ptr<Authentication>(std::move(made));
}

}  // namespace flyball::server
