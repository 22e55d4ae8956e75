#include "server/auth/service_account_tokens.h"

#include <algorithm>

#include "api/values/time.h"
#include "base/run/random.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::server {
namespace {

// The signing key first; the others are accepted only.
struct Key {
  net::PublicKeyParts parts;
  std::string public_pem;
};

std::int64_t UnixSeconds(TimePoint t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

Error InvalidToken(const char* why) {
  return Error(Reason::kUnauthorized, std::string("invalid bearer token, ") + why);
}

json::Value NameAndUid(std::string_view name, std::string_view uid) {
  return json::Object{{"name", name}, {"uid", uid}};
}

std::vector<std::string> AudiencesOf(const json::Value& claim) {
  if (claim.is_string()) return {std::string(claim.as_string())};
  std::vector<std::string> out;
  if (claim.is_array())
    for (const auto& item : claim.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

json::Value KeyDocument(const Key& key) {
  json::Object out{
      {"use", "sig"}, {"kty", key.parts.kty}, {"kid", key.parts.key_id}, {"alg", key.parts.algorithm}};
  if (key.parts.kty == "RSA") {
    out.Set("n", key.parts.n);
    out.Set("e", key.parts.e);
  } else {
    out.Set("crv", key.parts.crv);
    out.Set("x", key.parts.x);
    out.Set("y", key.parts.y);
  }
  return out;
}

class JwtTokens final : public ServiceAccountTokens {
 public:
  JwtTokens(const ServiceAccountTokenOptions& options, std::string signing_key, std::vector<Key> keys,
            const Catalog& catalog, const Clock& clock)
      : issuers_(options.issuers),
        audiences_(options.audiences.empty() ? issuers_ : options.audiences),
        signing_key_(std::move(signing_key)),
        keys_(std::move(keys)),
        catalog_(catalog),
        clock_(clock) {}

  Result<IssuedToken> Issue(std::string_view space, std::string_view name, std::string_view uid,
                            const std::vector<std::string>& audiences, Duration lifetime,
                            const BoundObject& bound) override;
  std::unique_ptr<TokenAuthenticator> NewAuthenticator() override;
  const std::vector<std::string>& audiences() const override { return audiences_; }
  json::Value KeySet() const override;
  json::Value Configuration(std::string_view address) const override;

  MaybeTokenIdentity Check(std::string_view token, const std::vector<std::string>& audiences) const;

 private:
  Status CheckClaims(const json::Value& claims, const std::vector<std::string>& audiences) const;
  Status CheckStillThere(const json::Value& claims) const;
  bool IsDeleted(const StoredObject& object) const;
  bool Exists(std::string_view plural, std::string_view space, const json::Value& reference) const;

  const std::vector<std::string> issuers_;  // ours first
  const std::vector<std::string> audiences_;
  const std::string signing_key_;
  const std::vector<Key> keys_;
  const Catalog& catalog_;
  const Clock& clock_;
};

class ServiceAccountAuthenticator final : public LocalTokenAuthenticator {
 public:
  explicit ServiceAccountAuthenticator(const JwtTokens& tokens) : tokens_(tokens) {}
  MaybeTokenIdentity Check(std::string_view token, const std::vector<std::string>& audiences) override {
    return tokens_.Check(token, audiences);
  }
  bool knows_audiences() const override { return true; }

 private:
  const JwtTokens& tokens_;
};

Result<IssuedToken> JwtTokens::Issue(std::string_view space, std::string_view name, std::string_view uid,
                                     const std::vector<std::string>& audiences, Duration lifetime,
                                     const BoundObject& bound) {
  const auto now = clock_.Now();
  const auto wanted = audiences.empty() ? audiences_ : audiences;
  json::Object kubernetes{{"namespace", space}, {"serviceaccount", NameAndUid(name, uid)}};
  if (bound.kind == "Pod") kubernetes.Set("pod", NameAndUid(bound.name, bound.uid));
  if (bound.kind == "Secret") kubernetes.Set("secret", NameAndUid(bound.name, bound.uid));
  if (bound.kind == "Node") kubernetes.Set("node", NameAndUid(bound.name, bound.uid));
  if (!bound.node_name.empty()) kubernetes.Set("node", NameAndUid(bound.node_name, bound.node_uid));
  json::Object claims{
      {"aud", json::Array(wanted.begin(), wanted.end())},
      {"exp", UnixSeconds(now + lifetime)},
      {"iat", UnixSeconds(now)},
      {"iss", issuers_.front()},
      {"jti", Random::System().Uuid()},
      {"kubernetes.io", std::move(kubernetes)},
      {"nbf", UnixSeconds(now)},
      {"sub", std::string(kServiceAccountPrefix) + std::string(space) + ":" + std::string(name)}};
  json::Object header{{"alg", keys_.front().parts.algorithm}, {"kid", keys_.front().parts.key_id}};
  FLYBALL_ASSIGN(std::string token, net::SignJws(json::Write(json::Value(std::move(header))),
                                                 json::Write(json::Value(std::move(claims))), signing_key_));
  return IssuedToken{std::move(token), now + lifetime};
}

MaybeTokenIdentity JwtTokens::Check(std::string_view token, const std::vector<std::string>& audiences) const {
  const auto jws = net::DecodeJws(token);
  if (!jws) return std::optional<TokenIdentity>();  // some other kind of token
  const auto claims = json::Parse(jws->payload_json);
  if (!claims || std::count(issuers_.begin(), issuers_.end(), (*claims)["iss"].string_or("")) == 0)
    return std::optional<TokenIdentity>();
  const bool signed_by_us = std::any_of(
      keys_.begin(), keys_.end(), [&](const Key& key) { return net::VerifyJws(token, key.public_pem); });
  if (!signed_by_us) return Unexpected(InvalidToken("its signature is not ours"));
  FLYBALL_TRY(CheckClaims(*claims, audiences));
  FLYBALL_TRY(CheckStillThere(*claims));

  const auto& kubernetes = (*claims)["kubernetes.io"];
  const std::string space(kubernetes["namespace"].string_or(""));
  const auto& account = kubernetes["serviceaccount"];
  User user;
  user.name = std::string(kServiceAccountPrefix) + space + ":" + std::string(account["name"].string_or(""));
  user.uid = account["uid"].string_or("");
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + space};
  const auto extra = [&](const char* key, const json::Value& value) {
    if (value.is_string())
      user.extra[std::string("authentication.kubernetes.io/") + key] = {std::string(value.as_string())};
  };
  if ((*claims)["jti"].is_string())
    user.extra["authentication.kubernetes.io/credential-id"] = {"JTI=" +
                                                                std::string((*claims)["jti"].as_string())};
  extra("pod-name", kubernetes["pod"]["name"]);
  extra("pod-uid", kubernetes["pod"]["uid"]);
  extra("node-name", kubernetes["node"]["name"]);
  extra("node-uid", kubernetes["node"]["uid"]);
  return std::optional(
      TokenIdentity{std::move(user), CommonAudiences(audiences, AudiencesOf((*claims)["aud"]))});
}

Status JwtTokens::CheckClaims(const json::Value& claims, const std::vector<std::string>& audiences) const {
  const auto now = UnixSeconds(clock_.Now());
  if (claims["exp"].int_or(0) <= now) return Unexpected(InvalidToken("it has expired"));
  if (claims["nbf"].int_or(0) > now) return Unexpected(InvalidToken("it is not valid yet"));
  if (CommonAudiences(audiences, AudiencesOf(claims["aud"])).empty())
    return Unexpected(InvalidToken("it is for another audience"));
  return {};
}

bool JwtTokens::Exists(std::string_view plural, std::string_view space, const json::Value& reference) const {
  const auto resource = catalog_.Find("", "v1", plural);
  const auto object = resource->cache->Get(ServedResource::CacheKey(space, reference["name"].string_or("")));
  return object && object->uid() == reference["uid"].string_or("") && !IsDeleted(*object);
}

// Objects may wait for finalizers long after they were deleted; their tokens do not (upstream:
// jwt.DefaultLeeway).
bool JwtTokens::IsDeleted(const StoredObject& object) const {
  constexpr std::int64_t kLeewaySeconds = 60;
  if (object.bytes()->find("\"deletionTimestamp\"") == std::string::npos) return false;
  const json::Value value = object.ToValue();
  const auto deleted = api::ParseTime(value["metadata"]["deletionTimestamp"].string_or(""));
  return deleted && deleted->seconds + kLeewaySeconds < UnixSeconds(clock_.Now());
}

// A token is worth no more than what it was made for: the account, and the object it is bound to.
Status JwtTokens::CheckStillThere(const json::Value& claims) const {
  const auto& kubernetes = claims["kubernetes.io"];
  const auto space = kubernetes["namespace"].string_or("");
  if (!Exists("serviceaccounts", space, kubernetes["serviceaccount"]))
    return Unexpected(InvalidToken("its service account is gone"));
  if (kubernetes["pod"].is_object() && !Exists("pods", space, kubernetes["pod"]))
    return Unexpected(InvalidToken("its pod is gone"));
  if (kubernetes["secret"].is_object() && !Exists("secrets", space, kubernetes["secret"]))
    return Unexpected(InvalidToken("its secret is gone"));
  if (kubernetes["node"].is_object() && !kubernetes["pod"].is_object() &&
      !Exists("nodes", "", kubernetes["node"]))
    return Unexpected(InvalidToken("its node is gone"));
  return {};
}

std::unique_ptr<TokenAuthenticator> JwtTokens::NewAuthenticator() {
  return std::make_unique<ServiceAccountAuthenticator>(*this);
}

json::Value JwtTokens::KeySet() const {
  json::Array keys;
  for (const auto& key : keys_) keys.push_back(KeyDocument(key));
  return json::Object{{"keys", std::move(keys)}};
}

json::Value JwtTokens::Configuration(std::string_view address) const {
  json::Array algorithms;
  for (const auto& key : keys_) algorithms.push_back(key.parts.algorithm);
  return json::Object{{"issuer", issuers_.front()},
                      {"jwks_uri", "https://" + std::string(address) + "/openid/v1/jwks"},
                      {"response_types_supported", json::Array{"id_token"}},
                      {"subject_types_supported", json::Array{"public"}},
                      {"id_token_signing_alg_values_supported", std::move(algorithms)}};
}

Result<Key> MakeKey(std::string_view pem) {
  FLYBALL_ASSIGN(auto parts, net::DescribePublicKey(pem));
  FLYBALL_ASSIGN(auto public_pem, net::PublicKeyPem(pem));
  return Key{std::move(parts), std::move(public_pem)};
}

}  // namespace

Result<std::unique_ptr<ServiceAccountTokens>> ServiceAccountTokens::Make(
    const ServiceAccountTokenOptions& options, const Catalog& catalog, const Clock& clock) {
  std::string signing_key = options.signing_key;
  if (signing_key.empty()) {
    FLYBALL_ASSIGN(signing_key, net::MakePrivateKey(net::KeyType::kEcdsaP256));
  }
  std::vector<Key> keys;
  FLYBALL_ASSIGN(Key first, MakeKey(signing_key));
  keys.push_back(std::move(first));
  for (const auto& pem : options.keys) {
    FLYBALL_ASSIGN(Key key, MakeKey(pem));
    if (key.parts.key_id != keys.front().parts.key_id) keys.push_back(std::move(key));
  }
  return std::make_unique<JwtTokens>(options, std::move(signing_key), std::move(keys), catalog, clock);
}

}  // namespace flyball::server
