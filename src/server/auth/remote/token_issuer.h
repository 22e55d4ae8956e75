// TokenIssuer: an OpenID issuer whose tokens are accepted: finds its keys (discovery, JWKS), verifies
// signatures and claims, and maps claims to a user (upstream: plugin/pkg/authenticator/token/oidc).
//
// States: the issuer is discovered in the background, again every kRetry until it answers. Until then its
// tokens are refused with "oidc: authenticator not initialized". Keys are cached: a token signed by an
// unknown key has them fetched again, at most once every kRefreshLimit, one fetch for all who wait. Keys
// older than kRefreshAge are fetched again in the background when they are used, so that a withdrawn key is
// forgotten.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/auth/config/authentication_config.h"
#include "server/auth/remote/remote_calls.h"

namespace flyball::server {

// A key that tokens may be signed with.
struct IssuerKey {
  std::string id, algorithm;  // empty: not said
  std::string pem;
};
// The usable keys of a JSON Web Key Set: RSA and EC, not meant for encryption. Others are skipped. BadRequest
// if it is none, or has more than kMaxIssuerKeys.
inline constexpr std::size_t kMaxIssuerKeys = 256;
Result<std::vector<IssuerKey>> ParseKeySet(std::string_view json_text);

// What issuers share. The parts outlive them.
struct IssuerContext {
  Executor& executor;
  RemoteCalls& calls;
  Metrics& metrics;
};

// Thread-safe.
class TokenIssuer : public std::enable_shared_from_this<TokenIssuer> {
 public:
  static constexpr Duration kRetry = std::chrono::seconds(10);
  static constexpr Duration kRefreshLimit = std::chrono::seconds(10);
  static constexpr Duration kRefreshAge = std::chrono::hours(1);
  static constexpr std::size_t kMostWaiters = 1000;

  // Requires a valid configuration.
  TokenIssuer(JwtIssuerConfig config, std::vector<std::string> signing_algorithms, IssuerContext context);

  // Begins discovery. `ready` is called once: when it has succeeded, or the issuer is retired before.
  void Start(UniqueFunction<void(Status)> ready);
  // Gives up discovery. Tokens under way are still checked.
  void Retire() { retired_ = true; }

  const std::string& url() const { return config_.url; }
  // Requires that the token says it is of this issuer.
  Task<Result<User>> Authenticate(std::string_view token, Executor& resume);

 private:
  struct Keys {
    std::vector<IssuerKey> keys;
    SteadyTime fetched{};
  };
  using KeysPtr = std::shared_ptr<const Keys>;

  Task<void> Discover(UniqueFunction<void(Status)> ready);
  Task<Status> TryDiscover();
  Task<Result<net::Response>> Get(const std::string& url);
  // Joins the fetch under way or begins one. An error if the limit forbids it, or if it fails.
  Task<Status> Refresh(Executor& resume);
  // Begins one that nobody waits for, if the keys are old.
  void RefreshIfOld();
  Task<void> RefreshInBackground();
  Task<void> FetchKeys();
  Task<Status> FetchKeysOnce();

  Task<Result<json::Value>> Verify(std::string_view token, Executor& resume);
  bool SignedByKnownKey(std::string_view token, std::string_view key_id, std::string_view algorithm) const;
  Status CheckClaims(const json::Value& claims) const;
  Result<User> UserOf(const json::Value& claims) const;
  // `shown` is what expressions see of the claims.
  Result<std::string> UserName(const json::Value& claims, const json::Value& shown) const;
  Result<std::vector<std::string>> Groups(const json::Value& claims, const json::Value& shown) const;
  Result<std::string> Uid(const json::Value& claims, const json::Value& shown) const;
  Status AddExtra(const json::Value& shown, User& user) const;
  Status CheckRequired(const json::Value& claims) const;

  const JwtIssuerConfig config_;
  const JwtExpressions expressions_;
  const std::vector<std::string> algorithms_;
  const IssuerContext context_;
  std::atomic<bool> retired_{false}, initialized_{false};

  mutable Mutex mu_;
  std::string jwks_url_ FLYBALL_GUARDED_BY(mu_);
  KeysPtr keys_ FLYBALL_GUARDED_BY(mu_) = std::make_shared<Keys>();
  bool fetching_ FLYBALL_GUARDED_BY(mu_) = false;
  std::optional<SteadyTime> last_fetch_ FLYBALL_GUARDED_BY(mu_);
  std::vector<UniqueFunction<void(Status)>> waiters_ FLYBALL_GUARDED_BY(mu_);
};

// The issuer a token claims, without any check; "" if it is no compact JSON Web Token.
std::string UntrustedIssuer(std::string_view token);

}  // namespace flyball::server
