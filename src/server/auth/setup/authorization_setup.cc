#include "server/auth/setup/authorization_setup.h"

#include <set>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "server/auth/rbac.h"
#include "server/auth/remote/remote_calls.h"
#include "server/auth/remote/webhook_authorizer.h"
#include "server/auth/setup/reload_metrics.h"

namespace flyball::server {
namespace {

// The chain of now. Questions under way keep the one they began with.
class CurrentAuthorizer final : public Authorizer {
 public:
  void Set(std::shared_ptr<const Authorizer> chain) {
    MutexLock lock(mu_);
    chain_ = std::move(chain);
  }

  Task<Verdict> Authorize(const AuthorizationAttributes& attributes, Executor& resume) const override {
    const auto chain = Get();
    co_return co_await chain->Authorize(attributes, resume);
  }
  RuleLists RulesFor(const User& user, std::string_view namespace_name) const override {
    return Get()->RulesFor(user, namespace_name);
  }

 private:
  std::shared_ptr<const Authorizer> Get() const {
    MutexLock lock(mu_);
    return chain_;
  }

  mutable Mutex mu_;
  std::shared_ptr<const Authorizer> chain_ FLYBALL_GUARDED_BY(mu_);
};

// The chain that the options ask for. The file watcher may be the last to let go of it. Thread-safe.
class ConfiguredChain : public std::enable_shared_from_this<ConfiguredChain> {
 public:
  ConfiguredChain(const AuthorizationOptions& options, const AuthorizationParts& parts)
      : options_(options), parts_(parts), metrics_("authorization", parts.metrics, parts.executor.clock()) {}

  Status Build() {
    if (options_.config_file.empty()) {
      FLYBALL_ASSIGN(const auto config, ConfigurationOfFlags(options_));
      MutexLock lock(mu_);
      return Use(config, true);
    }
    if (options_.other_flags_set)
      return Unexpected(
          BadRequest("--authorization-config can not be specified when --authorization-mode or "
                     "--authorization-webhook-* flags are defined"));
    {
      MutexLock lock(mu_);
      FLYBALL_ASSIGN(current_, ReadFile(options_.config_file));
      FLYBALL_ASSIGN(const auto config, LoadAuthorizationConfiguration(current_, {}));
      FLYBALL_TRY(Use(config, true));
    }
    if (!parts_.files) return {};
    return parts_.files->Watch({options_.config_file}, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Check();
    });
  }

  const Authorizer& authorizer() const { return authorizer_; }

  void Stop() {
    // The watcher's thread may be inside Check: wait for it.
    MutexLock lock(mu_);
    stopped_ = true;
    calls_.Stop();
  }
  // After Stop, and after the last question: lets go of what rests on the server's other parts.
  void Close() {
    MutexLock lock(mu_);
    authorizer_.Set(nullptr);
    rbac_ = node_ = nullptr;
  }

 private:
  // Builds the chain and puts it in force. Types that need the server's own data are made at the start, and
  // not later.
  Status Use(const AuthorizationConfiguration& config, bool first) FLYBALL_REQUIRES(mu_) {
    std::vector<NamedAuthorizer> chain;
    for (const auto& one : config.authorizers) {
      FLYBALL_ASSIGN(auto authorizer, AuthorizerFor(one, first));
      chain.push_back({one.type, one.name, std::move(authorizer)});
      if (first && one.type != "Webhook") required_.insert(one.type);
    }
    authorizer_.Set(NewAuthorizerChain(chain, parts_.metrics));
    return {};
  }

  Result<std::shared_ptr<const Authorizer>> AuthorizerFor(const AuthorizerConfig& one, bool first)
      FLYBALL_REQUIRES(mu_) {
    if (one.type == "AlwaysAllow") return std::shared_ptr<const Authorizer>(NewAlwaysAllowAuthorizer());
    if (one.type == "AlwaysDeny") return std::shared_ptr<const Authorizer>(NewAlwaysDenyAuthorizer());
    if (one.type == "Webhook") {
      FLYBALL_ASSIGN(auto webhook,
                     NewWebhookAuthorizer(one.name, one.webhook, {parts_.executor, parts_.random, calls_},
                                          parts_.metrics));
      return std::shared_ptr<const Authorizer>(std::move(webhook));
    }
    auto& kept = one.type == "RBAC" ? rbac_ : node_;
    if (first && !kept)
      kept = one.type == "RBAC" ? NewRbacAuthorizer(parts_.catalog) : NewNodeAuthorizer(parts_.catalog);
    if (kept) return kept;
    return Unexpected(BadRequest("authorizer type " + one.type +
                                 " is not allowed if it was not enabled at initial server startup"));
  }

  void Check() {
    MutexLock lock(mu_);
    if (stopped_) return;
    const auto text = ReadFile(options_.config_file);
    if (!text) return Failed(text.error());
    if (*text == current_) return;
    current_ = *text;
    const auto config = LoadAuthorizationConfiguration(current_, required_);
    if (!config) return Failed(config.error());
    if (const Status used = Use(*config, false); !used) return Failed(used.error());
    log::Info("reloaded authz config", {{"file", options_.config_file}});
    metrics_.Record(true);
  }

  void Failed(const Error& error) const {
    log::Error("reloading authorization config",
               {{"file", options_.config_file}, {"error", error.message()}});
    metrics_.Record(false);
  }

  const AuthorizationOptions options_;
  const AuthorizationParts parts_;
  const ReloadMetrics metrics_;
  RemoteCalls calls_;
  CurrentAuthorizer authorizer_;
  Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::string current_ FLYBALL_GUARDED_BY(mu_);             // the file as it was last read
  std::set<std::string> required_ FLYBALL_GUARDED_BY(mu_);  // types that a new file must have too
  std::shared_ptr<const Authorizer> rbac_ FLYBALL_GUARDED_BY(mu_), node_ FLYBALL_GUARDED_BY(mu_);
};

class ConfiguredAuthorization final : public Authorization {
 public:
  explicit ConfiguredAuthorization(std::shared_ptr<ConfiguredChain> chain) : chain_(std::move(chain)) {}
  ~ConfiguredAuthorization() override {
    chain_->Stop();
    chain_->Close();
  }
  const Authorizer& authorizer() const override { return chain_->authorizer(); }
  void Stop() override { chain_->Stop(); }

 private:
  const std::shared_ptr<ConfiguredChain> chain_;
};

}  // namespace

Result<std::unique_ptr<Authorization>> Authorization::Make(const AuthorizationOptions& options,
                                                           const AuthorizationParts& parts) {
  auto chain = std::make_shared<ConfiguredChain>(options, parts);
  FLYBALL_TRY(chain->Build());
  return std::unique_ptr<Authorization>(std::make_unique<ConfiguredAuthorization>(std::move(chain)));
}

}  // namespace flyball::server
