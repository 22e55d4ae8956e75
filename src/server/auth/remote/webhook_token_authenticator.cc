#include "server/auth/remote/webhook_token_authenticator.h"

#include "base/observe/log.h"
#include "json/json.h"
#include "server/auth/config/authorization_config.h"
#include "server/auth/remote/expiring_cache.h"

namespace flyball::server {
namespace {

// Upstream's cache has 32 parts of 4096.
constexpr std::size_t kTokenCacheSize = 4096;

std::vector<std::string> TextsOf(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

class WebhookTokens final : public TokenAuthenticator {
 public:
  WebhookTokens(std::unique_ptr<WebhookClient> client, const WebhookTokenOptions& options,
                std::vector<std::string> api_audiences, const Clock& clock)
      : client_(std::move(client)),
        options_(options),
        api_audiences_(std::move(api_audiences)),
        cache_(kTokenCacheSize, clock) {}

  Task<MaybeTokenIdentity> Authenticate(std::string_view token, const std::vector<std::string>& audiences,
                                        Executor& resume) override {
    std::string key(token);
    for (const auto& audience : audiences) key.append(1, '\0').append(audience);
    auto known = cache_.Get(key);
    if (known) co_return *known;
    json::Object spec{{"token", token}};
    if (!audiences.empty()) spec.Set("audiences", json::Array(audiences.begin(), audiences.end()));
    const json::Value review = json::Object{{"kind", "TokenReview"},
                                            {"apiVersion", "authentication.k8s.io/" + options_.version},
                                            {"metadata", json::Object{}},
                                            {"spec", std::move(spec)},
                                            {"status", json::Object{{"user", json::Object{}}}}};
    const auto answer = co_await client_->Review(review, resume);
    if (!answer) {
      log::Error("Failed to make webhook authenticator request", {{"error", answer.error().message()}});
      co_return Unexpected(answer.error());
    }
    MaybeTokenIdentity identity = IdentityOf((*answer)["status"], audiences);
    if (identity) cache_.Put(key, *identity, options_.cache_ttl);
    co_return identity;
  }

  bool knows_audiences() const override { return true; }

 private:
  MaybeTokenIdentity IdentityOf(const json::Value& status, const std::vector<std::string>& wanted) const {
    const auto given = TextsOf(status["audiences"]);
    auto common = CommonAudiences(wanted, given.empty() ? api_audiences_ : given);
    if (common.empty()) return std::optional<TokenIdentity>();
    if (!status["authenticated"].bool_or(false)) {
      const std::string why(status["error"].string_or(""));
      if (why.empty()) return std::optional<TokenIdentity>();
      return Unexpected(Error(Reason::kUnauthorized, why));
    }
    const auto& user = status["user"];
    TokenIdentity identity;
    identity.user.name = user["username"].string_or("");
    identity.user.uid = user["uid"].string_or("");
    identity.user.groups = TextsOf(user["groups"]);
    if (const auto& extra = user["extra"]; extra.is_object())
      for (const auto& [name, values] : extra.as_object())
        identity.user.extra[std::string(name)] = TextsOf(values);
    identity.audiences = std::move(common);
    return std::optional(std::move(identity));
  }

  const std::unique_ptr<WebhookClient> client_;
  const WebhookTokenOptions options_;
  const std::vector<std::string> api_audiences_;
  ExpiringCache<std::optional<TokenIdentity>> cache_;
};

}  // namespace

Result<std::unique_ptr<TokenAuthenticator>> NewWebhookTokenAuthenticator(
    const WebhookTokenOptions& options, std::vector<std::string> api_audiences, WebhookContext context) {
  if (options.version != "v1" && options.version != "v1beta1")
    return Unexpected(BadRequest("unsupported authentication webhook version \"" + options.version +
                                 "\", supported versions are \"v1\", \"v1beta1\""));
  FLYBALL_ASSIGN(auto client, WebhookClient::Make(options.config_file, kDefaultWebhookTimeout, context));
  return std::unique_ptr<TokenAuthenticator>(std::make_unique<WebhookTokens>(
      std::move(client), options, std::move(api_audiences), context.executor.clock()));
}

}  // namespace flyball::server
