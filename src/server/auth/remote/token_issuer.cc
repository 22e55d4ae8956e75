#include "server/auth/remote/token_issuer.h"

#include <algorithm>
#include <cmath>

#include "api/values/go_text.h"
#include "api/values/time.h"
#include "base/observe/log.h"
#include "json/json.h"
#include "net/client/http_client.h"
#include "net/http/origin.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

constexpr std::string_view kDiscoveryPath = "/.well-known/openid-configuration";
constexpr std::string_view kGoogle = "https://accounts.google.com", kGoogleShort = "accounts.google.com";
// Clocks differ: a token may be this much ahead of ours (upstream's leeway).
constexpr std::int64_t kNotBeforeLeewaySeconds = 60;
// Claims are a few kilobytes at most; deeper ones than this are no claims.
constexpr std::size_t kMaxClaimDepth = 100;

Error OidcError(const std::string& what) {
  return Error(Reason::kUnauthorized, "oidc: " + what);
}

std::string QuotedTexts(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i > 0 ? " " : "") + api::GoQuote(texts[i]);
  return out + "]";
}

std::string MetricHash(std::string_view text) {
  return text.empty() ? "" : "sha256:" + net::HexEncode(net::Sha256(text));
}

std::optional<std::int64_t> SecondsOf(const json::Value& claim) {
  if (claim.is_int()) return claim.as_int();
  // Numbers that no 64-bit integer holds are no times.
  constexpr double kMost = 9e15;
  if (claim.is_double() && std::abs(claim.as_double()) < kMost)
    return static_cast<std::int64_t>(claim.as_double());
  return std::nullopt;
}

std::vector<std::string> AudienceList(const json::Value& claim) {
  if (claim.is_string()) return {std::string(claim.as_string())};
  std::vector<std::string> out;
  if (claim.is_array())
    for (const auto& item : claim.as_array())
      if (item.is_string()) out.emplace_back(item.as_string());
  return out;
}

Result<json::Value> ParseClaims(std::string_view text) {
  json::ParseOptions options;
  options.max_depth = kMaxClaimDepth;
  return json::Parse(text, options);
}

Result<IssuerKey> ReadKey(const json::Value& key) {
  net::PublicKeyParts parts;
  parts.kty = key["kty"].string_or("");
  parts.n = key["n"].string_or("");
  parts.e = key["e"].string_or("");
  parts.crv = key["crv"].string_or("");
  parts.x = key["x"].string_or("");
  parts.y = key["y"].string_or("");
  FLYBALL_ASSIGN(std::string pem, net::PublicKeyPemOf(parts));
  return IssuerKey{std::string(key["kid"].string_or("")), std::string(key["alg"].string_or("")),
                   std::move(pem)};
}

// `whose`: of an expression that must return a string and did not.
Error Evaluating(const std::string& what, const Error& error, const std::string& whose = {}) {
  const bool wrong_type = error.message() == "claim expression must return a string";
  return OidcError("error evaluating " + what + ": " + (wrong_type ? whose : "") + error.message());
}

json::Value ShownUser(const User& user) {
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra.Set(key, json::Array(values.begin(), values.end()));
  return json::Object{{"username", user.name},
                      {"uid", user.uid},
                      {"groups", json::Array(user.groups.begin(), user.groups.end())},
                      {"extra", std::move(extra)}};
}

Status CheckRules(const std::vector<JwtExpressions::Rule>& rules, const json::Value& shown,
                  const std::string& what) {
  for (const auto& [expression, message] : rules) {
    const auto holds = expression->Holds(shown);
    if (!holds) return Unexpected(Evaluating(what, holds.error()));
    if (!*holds)
      return Unexpected(OidcError("error evaluating " + what + ": validation expression '" +
                                  expression->text() + "' failed: " + message));
  }
  return {};
}

void LogSpawned(std::exception_ptr exception) {
  if (exception) log::Error("work for a token issuer failed");
}

}  // namespace

Result<std::vector<IssuerKey>> ParseKeySet(std::string_view json_text) {
  FLYBALL_ASSIGN(const json::Value document, ParseClaims(json_text));
  const auto& list = document["keys"];
  if (!list.is_array()) return Unexpected(BadRequest("a JSON Web Key Set has a list of keys"));
  if (list.as_array().size() > kMaxIssuerKeys) return Unexpected(BadRequest("too many keys"));
  std::vector<IssuerKey> keys;
  for (const auto& item : list.as_array()) {
    if (!item.is_object() || item["use"].string_or("sig") == "enc") continue;
    if (auto key = ReadKey(item)) keys.push_back(std::move(*key));
  }
  return keys;
}

std::string UntrustedIssuer(std::string_view token) {
  const auto jws = net::DecodeJws(token);
  if (!jws) return {};
  const auto claims = ParseClaims(jws->payload_json);
  if (!claims || !claims->is_object()) return {};
  const auto issuer = (*claims)["iss"].string_or("");
  return std::string(issuer == kGoogleShort ? kGoogle : issuer);
}

TokenIssuer::TokenIssuer(JwtIssuerConfig config, std::vector<std::string> signing_algorithms,
                         IssuerContext context)
    : config_(std::move(config)),
      expressions_(ExpressionsOf(config_)),
      algorithms_(std::move(signing_algorithms)),
      context_(context) {}

void TokenIssuer::Start(UniqueFunction<void(Status)> ready) {
  context_.executor.Post([self = shared_from_this(), ready = std::move(ready)]() mutable {
    Spawn(self->Discover(std::move(ready)), LogSpawned);
  });
}

Task<void> TokenIssuer::Discover(UniqueFunction<void(Status)> ready) {
  const auto self = shared_from_this();
  for (;;) {
    const Status found = co_await TryDiscover();
    if (found || found.error().Is(Reason::kCancelled) || retired_) {
      ready(found);
      co_return;
    }
    log::Error("oidc authenticator: initializing plugin",
               {{"issuer", config_.url}, {"error", found.error().message()}});
    const Status waited = co_await context_.calls.Wait(kRetry, context_.executor);
    if (!waited || retired_) {
      ready(Unexpected(found.error()));
      co_return;
    }
  }
}

Task<Status> TokenIssuer::TryDiscover() {
  std::string base = config_.url;
  if (base.ends_with('/')) base.pop_back();
  const std::string url =
      config_.discovery_url.empty() ? base + std::string(kDiscoveryPath) : config_.discovery_url;
  FLYBALL_CO_ASSIGN(const net::Response response, co_await Get(url));
  FLYBALL_CO_ASSIGN(const json::Value document, ParseClaims(response.body));
  const auto issuer = document["issuer"].string_or("");
  if (issuer != config_.url)
    co_return Unexpected(OidcError("issuer did not match the issuer returned by provider, expected " +
                                   api::GoQuote(config_.url) + " got " + api::GoQuote(issuer)));
  const std::string jwks_url(document["jwks_uri"].string_or(""));
  if (jwks_url.empty()) co_return Unexpected(OidcError("provider did not return JWKS URL"));
  {
    MutexLock lock(mu_);
    jwks_url_ = jwks_url;
  }
  // Keys that cannot be had now are asked for again with the first token.
  if (const Status fetched = co_await Refresh(context_.executor); !fetched)
    log::Warning("cannot fetch the keys of a token issuer",
                 {{"issuer", config_.url}, {"error", fetched.error().message()}});
  initialized_ = true;
  co_return Status();
}

Task<Result<net::Response>> TokenIssuer::Get(const std::string& url) {
  FLYBALL_CO_ASSIGN(const net::Origin origin, net::ParseOrigin(url));
  if (!origin.tls) co_return Unexpected(OidcError("URL scheme must be https: " + url));
  net::ClientOptions options;
  options.url = "https://" + origin.authority();
  options.tls.ca_pem = config_.certificate_authority;
  options.connect_timeout = std::chrono::seconds(10);
  FLYBALL_CO_ASSIGN(std::shared_ptr<net::Transport> transport, net::NewHttpClient(options));
  net::Request request;
  const auto path = url.find('/', url.find("://") + 3);
  request.target = path == std::string::npos ? "/" : url.substr(path);
  request.headers.Set("accept", "application/json");
  auto response =
      co_await context_.calls.Fetch(std::move(transport), std::move(request), {}, context_.executor);
  if (!response) co_return response;
  if (response->status != 200)
    co_return Unexpected(OidcError("GET " + url + " answered " + std::to_string(response->status)));
  co_return response;
}

Task<Status> TokenIssuer::Refresh(Executor& resume) {
  const auto self = shared_from_this();
  auto join = [&](UniqueFunction<void(Status)> done) {
    std::optional<Error> refused;
    bool begin = false;
    {
      MutexLock lock(mu_);
      const auto now = context_.executor.clock().Steady();
      if (!fetching_ && last_fetch_ && now < *last_fetch_ + kRefreshLimit)
        refused = OidcError("no key of the issuer matches");
      else if (waiters_.size() >= kMostWaiters)
        refused = OidcError("too many tokens wait for the keys of the issuer");
      else
        waiters_.push_back(std::move(done));
      begin = !refused && !fetching_;
      if (begin) {
        fetching_ = true;
        last_fetch_ = now;
      }
    }
    if (refused) return done(Unexpected(*refused));
    if (begin) context_.executor.Post([self] { Spawn(self->FetchKeys(), LogSpawned); });
  };
  auto fetched = Callback<Status>(resume, std::move(join));
  co_return co_await fetched;
}

void TokenIssuer::RefreshIfOld() {
  {
    MutexLock lock(mu_);
    if (fetching_ || context_.executor.clock().Steady() < keys_->fetched + kRefreshAge) return;
  }
  Spawn(RefreshInBackground(), LogSpawned);
}

Task<void> TokenIssuer::RefreshInBackground() {
  const auto self = shared_from_this();
  if (const Status fetched = co_await Refresh(context_.executor); !fetched)
    log::Warning("cannot refresh the keys of a token issuer",
                 {{"issuer", config_.url}, {"error", fetched.error().message()}});
}

Task<void> TokenIssuer::FetchKeys() {
  const auto self = shared_from_this();
  const Status fetched = co_await FetchKeysOnce();
  context_.metrics
      .GetGauge("apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
                "Timestamp of the last successful or failed JWKS fetch split by result, api server identity "
                "and jwt issuer for the JWT authenticator.",
                {{"result", fetched ? "success" : "failure"},
                 {"jwt_issuer_hash", MetricHash(config_.url)},
                 {"apiserver_id_hash", ""}})
      .Set(std::chrono::duration<double>(context_.executor.clock().Now().time_since_epoch()).count());
  std::vector<UniqueFunction<void(Status)>> waiters;
  {
    MutexLock lock(mu_);
    fetching_ = false;
    waiters.swap(waiters_);
  }
  for (auto& waiter : waiters) waiter(fetched);
}

Task<Status> TokenIssuer::FetchKeysOnce() {
  std::string url;
  {
    MutexLock lock(mu_);
    url = jwks_url_;
  }
  FLYBALL_CO_ASSIGN(const net::Response response, co_await Get(url));
  FLYBALL_CO_ASSIGN(auto keys, ParseKeySet(response.body));
  auto fresh = std::make_shared<Keys>();
  fresh->keys = std::move(keys);
  fresh->fetched = context_.executor.clock().Steady();
  MutexLock lock(mu_);
  keys_ = std::move(fresh);
  co_return Status();
}

Task<Result<User>> TokenIssuer::Authenticate(std::string_view token, Executor& resume) {
  const auto self = shared_from_this();
  if (!initialized_) co_return Unexpected(OidcError("authenticator not initialized"));
  const auto claims = co_await Verify(token, resume);
  if (!claims) co_return Unexpected(OidcError("verify token: " + claims.error().message()));
  co_return UserOf(*claims);
}

Task<Result<json::Value>> TokenIssuer::Verify(std::string_view token, Executor& resume) {
  FLYBALL_CO_ASSIGN(const net::Jws jws, net::DecodeJws(token));
  FLYBALL_CO_ASSIGN(const json::Value header, ParseClaims(jws.header_json));
  // Extensions that must be understood (RFC 7515, "crit"): none are.
  if (!header.is_object() || header.Find("crit"))
    co_return Unexpected(OidcError("malformed jwt: unsupported header"));
  const std::string algorithm(header["alg"].string_or(""));
  if (std::find(algorithms_.begin(), algorithms_.end(), algorithm) == algorithms_.end())
    co_return Unexpected(OidcError("id token signed with unsupported algorithm, expected " +
                                   QuotedTexts(algorithms_) + " got " + api::GoQuote(algorithm)));
  const std::string key_id(header["kid"].string_or(""));
  const Error unverified(Reason::kUnauthorized,
                         "failed to verify signature: failed to verify id token signature");
  if (!SignedByKnownKey(token, key_id, algorithm)) {
    if (const Status fresh = co_await Refresh(resume); !fresh) co_return Unexpected(unverified);
    if (!SignedByKnownKey(token, key_id, algorithm)) co_return Unexpected(unverified);
  }
  RefreshIfOld();
  FLYBALL_CO_ASSIGN(json::Value claims, ParseClaims(jws.payload_json));
  FLYBALL_CO_TRY(CheckClaims(claims));
  co_return claims;
}

bool TokenIssuer::SignedByKnownKey(std::string_view token, std::string_view key_id,
                                   std::string_view algorithm) const {
  KeysPtr known;
  {
    MutexLock lock(mu_);
    known = keys_;
  }
  for (const auto& key : known->keys) {
    if (!key_id.empty() && key.id != key_id) continue;
    if (!key.algorithm.empty() && key.algorithm != algorithm) continue;
    if (net::VerifyJws(token, key.pem, algorithm)) return true;
  }
  return false;
}

Status TokenIssuer::CheckClaims(const json::Value& claims) const {
  if (!claims.is_object()) return Unexpected(OidcError("failed to unmarshal claims"));
  const auto issuer = claims["iss"].string_or("");
  if (issuer != config_.url && !(config_.url == kGoogle && issuer == kGoogleShort))
    return Unexpected(OidcError("id token issued by a different provider, expected " +
                                api::GoQuote(config_.url) + " got " + api::GoQuote(issuer)));
  const auto audiences = AudienceList(claims["aud"]);
  if (CommonAudiences(audiences, config_.audiences).empty()) {
    const std::string expected = config_.audiences.size() == 1
                                     ? "expected audience " + api::GoQuote(config_.audiences.front())
                                     : "expected audience in " + QuotedTexts(config_.audiences);
    return Unexpected(OidcError(expected + " got " + QuotedTexts(audiences)));
  }
  const TimePoint now = context_.executor.clock().Now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto expires = SecondsOf(claims["exp"]);
  if (!expires || *expires < seconds)
    return Unexpected(
        OidcError("token is expired (Token Expiry: " + (expires ? std::to_string(*expires) : "none") + ")"));
  if (!claims["nbf"].is_null()) {
    const auto not_before = SecondsOf(claims["nbf"]);
    if (!not_before || *not_before > seconds + kNotBeforeLeewaySeconds)
      return Unexpected(
          OidcError("current time " + api::FormatTime(now) + " before the nbf (not before) time"));
  }
  return {};
}

Result<User> TokenIssuer::UserOf(const json::Value& claims) const {
  const json::Value shown = ClaimsForExpressions(claims);
  User user;
  FLYBALL_ASSIGN(user.name, UserName(claims, shown));
  FLYBALL_ASSIGN(user.groups, Groups(claims, shown));
  FLYBALL_ASSIGN(user.uid, Uid(claims, shown));
  if (const auto& id = claims["jti"]; id.is_string() && !id.as_string().empty())
    user.extra["authentication.kubernetes.io/credential-id"] = {"JTI=" + std::string(id.as_string())};
  FLYBALL_TRY(AddExtra(shown, user));
  FLYBALL_TRY(CheckRequired(claims));
  FLYBALL_TRY(CheckRules(expressions_.claim_rules, shown, "claim validation expression"));
  if (!expressions_.user_rules.empty())
    FLYBALL_TRY(CheckRules(expressions_.user_rules, ShownUser(user), "user info validation rule"));
  return user;
}

Result<std::string> TokenIssuer::UserName(const json::Value& claims, const json::Value& shown) const {
  if (expressions_.username) {
    auto name = expressions_.username->ToText(shown);
    if (!name) return Unexpected(Evaluating("username claim expression", name.error(), "username "));
    if (name->empty()) return Unexpected(OidcError("empty username via CEL expression is not allowed"));
    return name;
  }
  const auto& claim = config_.username.claim;
  const auto& value = claims[claim];
  if (!value.is_string() || value.as_string().empty())
    return Unexpected(OidcError("parse username claims " + api::GoQuote(claim) + ": " +
                                (claims.Find(claim) ? "not a name" : "claim not present")));
  // Who has not shown that the address is theirs could take anybody's.
  if (const auto* verified = claims.Find("email_verified"); claim == "email" && verified) {
    if (!verified->is_bool()) return Unexpected(OidcError("parse 'email_verified' claim: not a boolean"));
    if (!verified->as_bool()) return Unexpected(OidcError("email not verified"));
  }
  return config_.username.prefix.value_or("") + std::string(value.as_string());
}

Result<std::vector<std::string>> TokenIssuer::Groups(const json::Value& claims,
                                                     const json::Value& shown) const {
  const auto& claim = config_.groups.claim;
  std::vector<std::string> groups;
  if (expressions_.groups) {
    auto mapped = expressions_.groups->ToTexts(shown);
    if (!mapped) return Unexpected(Evaluating("group claim expression", mapped.error()));
    return mapped;
  }
  if (claim.empty()) return groups;
  const auto* value = claims.Find(claim);
  if (!value && !claims["_claim_names"][claim].is_null())
    return Unexpected(OidcError("could not expand distributed claims: this server does not fetch them"));
  if (!value || value->is_null()) return groups;
  const std::string prefix = config_.groups.prefix.value_or("");
  const Error bad = OidcError("parse groups claim " + api::GoQuote(claim) + ": not a list of names");
  if (value->is_string()) return std::vector<std::string>{prefix + std::string(value->as_string())};
  if (!value->is_array()) return Unexpected(bad);
  for (const auto& group : value->as_array()) {
    if (!group.is_string()) return Unexpected(bad);
    groups.push_back(prefix + std::string(group.as_string()));
  }
  return groups;
}

Result<std::string> TokenIssuer::Uid(const json::Value& claims, const json::Value& shown) const {
  if (expressions_.uid) {
    auto uid = expressions_.uid->ToText(shown);
    if (!uid) return Unexpected(Evaluating("uid claim expression", uid.error(), "uid "));
    return uid;
  }
  const auto& claim = config_.uid.claim;
  if (claim.empty()) return std::string();
  const auto& value = claims[claim];
  if (!value.is_string()) return Unexpected(OidcError("parse uid claim " + api::GoQuote(claim)));
  return std::string(value.as_string());
}

Status TokenIssuer::AddExtra(const json::Value& shown, User& user) const {
  for (const auto& [key, expression] : expressions_.extra) {
    auto values = expression->ToTexts(shown);
    if (!values) return Unexpected(Evaluating("extra claim expression", values.error()));
    if (!values->empty()) user.extra[key] = std::move(*values);
  }
  return {};
}

Status TokenIssuer::CheckRequired(const json::Value& claims) const {
  for (const auto& rule : config_.claim_validation_rules) {
    if (rule.claim.empty()) continue;
    const auto* value = claims.Find(rule.claim);
    if (!value) return Unexpected(OidcError("required claim " + rule.claim + " not present in ID token"));
    if (!value->is_string()) return Unexpected(OidcError("parse claim " + rule.claim + ": not a string"));
    if (value->as_string() != rule.required_value)
      return Unexpected(OidcError("required claim " + rule.claim + " value does not match. Got = " +
                                  std::string(value->as_string()) + ", want = " + rule.required_value));
  }
  return {};
}

}  // namespace flyball::server
