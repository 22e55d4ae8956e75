#include "server/auth/remote/token_issuer.h"

#include <gtest/gtest.h>

#include "server/auth/remote/jwt_authenticators.h"
#include "server/testing/remote_server.h"

namespace flyball::server {
namespace {

std::int64_t UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(RealClock().Now().time_since_epoch()).count();
}

// An issuer with one key, and whatever else a test gives it.
class FakeIssuer {
 public:
  explicit FakeIssuer(net::KeyType type = net::KeyType::kEcdsaP256)
      : key_(*net::MakePrivateKey(type)),
        server_([this](const net::Request& request) { return Answer(request); }) {}

  net::Response Answer(const net::Request& request) {
    MutexLock lock(mu_);
    if (request.target == "/.well-known/openid-configuration" || request.target == "/elsewhere")
      return JsonResponse(json::Object{{"issuer", issuer_.empty() ? server_.url() : issuer_},
                                       {"jwks_uri", server_.url() + "/keys"}});
    if (request.target != "/keys") return {404, {}, ""};
    const auto parts = *net::DescribePublicKey(key_);
    json::Object key{{"kid", kid_}, {"kty", parts.kty}, {"use", "sig"}};
    for (const auto& [name, value] :
         {std::pair{"n", parts.n}, {"e", parts.e}, {"crv", parts.crv}, {"x", parts.x}, {"y", parts.y}})
      if (!value.empty()) key.Set(name, value);
    auto response = JsonResponse(json::Object{{"keys", json::Array{json::Value(std::move(key))}}});
    response.body.append(padding_, ' ');
    return response;
  }

  RemoteServer& server() { return server_; }
  std::string key() {
    MutexLock lock(mu_);
    return key_;
  }
  void Rotate(const std::string& kid) {
    MutexLock lock(mu_);
    key_ = *net::MakePrivateKey(net::KeyType::kEcdsaP256);
    kid_ = kid;
  }
  void SayIssuer(const std::string& issuer) {
    MutexLock lock(mu_);
    issuer_ = issuer;
  }
  // Makes the key set longer by so many bytes.
  void Pad(std::size_t bytes) {
    MutexLock lock(mu_);
    padding_ = bytes;
  }

  JwtIssuerConfig Config() {
    JwtIssuerConfig config;
    config.url = server_.url();
    config.certificate_authority = server_.ca_pem();
    config.audiences = {"flyball"};
    config.username = {.claim = "sub", .prefix = "idp:"};
    config.groups = {.claim = "groups", .prefix = "idp:"};
    return config;
  }

  json::Value Claims() {
    return json::Object{{"iss", server_.url()},   {"sub", "ann"}, {"aud", "flyball"},
                        {"exp", UnixNow() + 600}, {"jti", "7"},   {"groups", json::Array{"a", "b"}}};
  }
  std::string Sign(const json::Value& claims, const std::string& algorithm = "ES256",
                   const std::string& kid = "one") {
    const json::Value header = json::Object{{"alg", algorithm}, {"kid", kid}};
    return *net::SignJws(json::Write(header), json::Write(claims), key(), algorithm);
  }

 private:
  Mutex mu_;
  std::string key_ FLYBALL_GUARDED_BY(mu_);
  std::string kid_ FLYBALL_GUARDED_BY(mu_) = "one";
  std::string issuer_ FLYBALL_GUARDED_BY(mu_);
  std::size_t padding_ FLYBALL_GUARDED_BY(mu_) = 0;
  RemoteServer server_;
};

class TokenIssuerTest : public testing::Test {
 protected:
  ~TokenIssuerTest() override {
    calls_.Stop();
    executor_.Stop();
  }

  Status Use(const JwtIssuerConfig& config, Duration patience = std::chrono::seconds(30)) {
    Notification<Status> done;
    jwt_.Replace({config}, patience, [&](const Status& outcome) { done.Set(outcome); });
    return done.Wait();
  }
  MaybeTokenIdentity Check(const std::string& token) {
    const std::vector<std::string> audiences{"api"};
    return Await<MaybeTokenIdentity>(executor_, [&]() -> Task<MaybeTokenIdentity> {
      return jwt_.Authenticate(token, audiences, executor_);
    });
  }
  // Why a token was refused; "" if it was not.
  std::string Refusal(const std::string& token) {
    const auto result = Check(token);
    if (result) return *result ? "" : "no opinion";
    return result.error().message();
  }
  std::string RefusedClaim(const char* name, json::Value value) {
    json::Value claims = issuer_.Claims();
    claims[name] = std::move(value);
    return Refusal(issuer_.Sign(claims));
  }

  OffsetClock clock_;
  ThreadPool executor_{"test", 2, clock_};
  RemoteCalls calls_;
  Metrics metrics_;
  FakeIssuer issuer_;
  JwtAuthenticators jwt_{AllSigningAlgorithms(), {executor_, calls_, metrics_}};
};

TEST_F(TokenIssuerTest, AGoodTokenIsItsUser) {
  ASSERT_TRUE(Use(issuer_.Config()));
  const auto identity = Check(issuer_.Sign(issuer_.Claims()));
  ASSERT_TRUE(identity && *identity);
  const User& user = (*identity)->user;
  EXPECT_EQ(user.name, "idp:ann");
  EXPECT_EQ(user.groups, (std::vector<std::string>{"idp:a", "idp:b"}));
  EXPECT_EQ(user.extra.at("authentication.kubernetes.io/credential-id"), std::vector<std::string>{"JTI=7"});
  EXPECT_NE(metrics_.Serialize().find("apiserver_authentication_jwt_authenticator_latency_seconds"),
            std::string::npos);
}

// The user a token becomes by these expressions: "name|groups|uid|tenant", or why it is refused.
class TokenExpressionTest : public TokenIssuerTest {
 protected:
  JwtIssuerConfig Expressions() {
    JwtIssuerConfig config = issuer_.Config();
    config.username = {.expression = "'idp:' + claims.sub"};
    config.groups = {.expression = "claims.groups"};
    return config;
  }
  std::string UserBy(const JwtIssuerConfig& config, const json::Value& claims) {
    if (const Status used = Use(config); !used) return used.error().message();
    const auto identity = Check(issuer_.Sign(claims));
    if (!identity) return identity.error().message();
    const User& user = (*identity)->user;
    std::string out = user.name + "|";
    for (const auto& group : user.groups) out += group + ",";
    out += "|" + user.uid;
    for (const auto& [key, values] : user.extra)
      if (key == "acme.io/tenant")
        for (const auto& value : values) out += "|" + value;
    return out;
  }
};

TEST_F(TokenExpressionTest, ExpressionsMakeTheUser) {
  JwtIssuerConfig config = Expressions();
  config.uid = {.expression = "string(int(claims.number))"};
  config.extra = {{"acme.io/tenant", "dyn(claims.tenant__dot__ids).filter(x, x != 'hidden')"}};
  json::Value claims = issuer_.Claims();
  claims["groups"] = json::Array{"a", "", "b"};
  claims["number"] = 7;
  claims["tenant.ids"] = json::Array{"t1", "hidden", "t2"};
  EXPECT_EQ(UserBy(config, claims), "idp:ann|a,b,|7|t1|t2");
}

TEST_F(TokenExpressionTest, NumbersAreDoublesAndNestedNamesAreEscaped) {
  JwtIssuerConfig config = Expressions();
  config.claim_validation_rules = {{.expression = "claims.number == 7.0 && claims.o.x__dash__y[0] == 'z'"}};
  json::Value claims = issuer_.Claims();
  claims["number"] = 7;
  claims["o"] = json::Object{{"x-y", json::Array{"z"}}};
  EXPECT_EQ(UserBy(config, claims), "idp:ann|a,b,|");
}

TEST_F(TokenExpressionTest, WhatAnExpressionCannotSayIsRefused) {
  JwtIssuerConfig config = Expressions();
  config.username = {.expression = "claims.missing"};
  EXPECT_EQ(UserBy(config, issuer_.Claims()),
            "oidc: error evaluating username claim expression: expression 'claims.missing' resulted in "
            "error: no such "
            "key: missing");
  config.username = {.expression = "claims.exp"};
  EXPECT_EQ(
      UserBy(config, issuer_.Claims()),
      "oidc: error evaluating username claim expression: username claim expression must return a string");
  config.username = {.expression = "''"};
  EXPECT_EQ(UserBy(config, issuer_.Claims()), "oidc: empty username via CEL expression is not allowed");
  config = Expressions();
  config.groups = {.expression = "claims.exp"};
  EXPECT_EQ(
      UserBy(config, issuer_.Claims()),
      "oidc: error evaluating group claim expression: expression must return a string or a list of strings");
  config = Expressions();
  config.uid = {.expression = "claims.groups"};
  EXPECT_EQ(UserBy(config, issuer_.Claims()),
            "oidc: error evaluating uid claim expression: uid claim expression must return a string");
  config = Expressions();
  config.extra = {{"acme.io/tenant", "claims.exp"}};
  EXPECT_EQ(
      UserBy(config, issuer_.Claims()),
      "oidc: error evaluating extra claim expression: expression must return a string or a list of strings");
}

TEST_F(TokenExpressionTest, RulesRefuse) {
  JwtIssuerConfig config = Expressions();
  config.claim_validation_rules = {{.expression = "claims.sub == 'bob'", .message = "only bob"}};
  EXPECT_EQ(UserBy(config, issuer_.Claims()),
            "oidc: error evaluating claim validation expression: validation expression 'claims.sub == 'bob'' "
            "failed: "
            "only bob");
  config = Expressions();
  config.user_validation_rules = {{"!user.username.startsWith('idp:')", "no idp"}};
  EXPECT_EQ(UserBy(config, issuer_.Claims()),
            "oidc: error evaluating user info validation rule: validation expression "
            "'!user.username.startsWith('idp:')' failed: no idp");
  config.user_validation_rules = {{"user.groups.all(g, g != 'admin')", ""}};
  EXPECT_EQ(UserBy(config, issuer_.Claims()), "idp:ann|a,b,|");
}

TEST_F(TokenIssuerTest, EveryAlgorithmIsVerified) {
  for (const auto& [algorithm, type] : {std::pair{"RS256", net::KeyType::kRsa2048},
                                        {"RS512", net::KeyType::kRsa2048},
                                        {"PS256", net::KeyType::kRsa2048},
                                        {"PS384", net::KeyType::kRsa2048},
                                        {"ES384", net::KeyType::kEcdsaP384},
                                        {"ES512", net::KeyType::kEcdsaP521}}) {
    FakeIssuer issuer(type);
    ASSERT_TRUE(Use(issuer.Config()));
    EXPECT_EQ(Refusal(issuer.Sign(issuer.Claims(), algorithm)), "") << algorithm;
  }
}

TEST_F(TokenIssuerTest, WrongSignatureIsRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  const auto stranger = *net::MakePrivateKey(net::KeyType::kEcdsaP256);
  const std::string header = R"({"alg":"ES256","kid":"one"})";
  const auto forged = *net::SignJws(header, json::Write(issuer_.Claims()), stranger, "ES256");
  EXPECT_NE(Refusal(forged).find("failed to verify id token signature"), std::string::npos);
}

TEST_F(TokenIssuerTest, ChangedClaimsAreRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  const std::string token = issuer_.Sign(issuer_.Claims());
  json::Value claims = issuer_.Claims();
  claims["sub"] = "root";
  const auto first = token.find('.'), last = token.rfind('.');
  const std::string changed =
      token.substr(0, first + 1) + net::Base64UrlEncode(json::Write(claims)) + token.substr(last);
  EXPECT_NE(Refusal(changed).find("failed to verify id token signature"), std::string::npos);
}

TEST_F(TokenIssuerTest, UnsignedAndSymmetricTokensAreRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  const std::string payload = net::Base64UrlEncode(json::Write(issuer_.Claims()));
  for (const char* algorithm : {"none", "None", "HS256", ""}) {
    const std::string header =
        net::Base64UrlEncode(json::Write(json::Object{{"alg", algorithm}, {"kid", "one"}}));
    for (const char* signature : {"", "AAAA"})
      EXPECT_NE(Refusal(header + "." + payload + "." + signature).find("unsupported algorithm"),
                std::string::npos)
          << algorithm;
  }
}

TEST_F(TokenIssuerTest, AnAlgorithmThatIsNotAllowedIsRefused) {
  JwtAuthenticators only_rsa({"RS256"}, {executor_, calls_, metrics_});
  Notification<Status> done;
  only_rsa.Replace({issuer_.Config()}, std::chrono::seconds(30), [&](const Status& s) { done.Set(s); });
  ASSERT_TRUE(done.Wait());
  const std::string token = issuer_.Sign(issuer_.Claims());
  const std::vector<std::string> audiences{"api"};
  const auto result = Await<MaybeTokenIdentity>(executor_, [&]() -> Task<MaybeTokenIdentity> {
    return only_rsa.Authenticate(token, audiences, executor_);
  });
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("expected [\"RS256\"] got \"ES256\""), std::string::npos);
}

TEST_F(TokenIssuerTest, AHeaderThatMustBeUnderstoodIsRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  const std::string header = R"({"alg":"ES256","kid":"one","crit":["b64"],"b64":false})";
  const auto token = *net::SignJws(header, json::Write(issuer_.Claims()), issuer_.key(), "ES256");
  EXPECT_NE(Refusal(token).find("unsupported header"), std::string::npos);
}

TEST_F(TokenIssuerTest, ATokenOfAnotherIssuerIsNotOurs) {
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_EQ(RefusedClaim("iss", "https://other.example"), "no opinion");
  EXPECT_EQ(Refusal("not.a.token"), "no opinion");
  EXPECT_EQ(Refusal("secret"), "no opinion");
}

TEST_F(TokenIssuerTest, AnotherAudienceIsRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_NE(RefusedClaim("aud", "shop").find("expected audience \"flyball\" got [\"shop\"]"),
            std::string::npos);
  EXPECT_NE(RefusedClaim("aud", json::Value()).find("expected audience"), std::string::npos);
  EXPECT_EQ(RefusedClaim("aud", json::Array{"shop", "flyball"}), "");
}

TEST_F(TokenIssuerTest, AnyOfSeveralAudiencesWillDo) {
  auto config = issuer_.Config();
  config.audiences = {"one", "two"};
  config.audience_match_policy = "MatchAny";
  ASSERT_TRUE(Use(config));
  EXPECT_EQ(RefusedClaim("aud", "two"), "");
  EXPECT_NE(RefusedClaim("aud", "three").find("expected audience in [\"one\" \"two\"]"), std::string::npos);
}

TEST_F(TokenIssuerTest, AnExpiredTokenIsRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_NE(RefusedClaim("exp", UnixNow() - 5).find("token is expired"), std::string::npos);
  EXPECT_NE(RefusedClaim("exp", json::Value()).find("token is expired"), std::string::npos);
  EXPECT_NE(RefusedClaim("exp", "tomorrow").find("token is expired"), std::string::npos);
}

TEST_F(TokenIssuerTest, ATokenThatIsNotValidYetIsRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_NE(RefusedClaim("nbf", UnixNow() + 120).find("before the nbf"), std::string::npos);
  EXPECT_EQ(RefusedClaim("nbf", UnixNow() + 20), "");  // clocks differ
}

TEST_F(TokenIssuerTest, AnUnverifiedAddressIsRefused) {
  auto config = issuer_.Config();
  config.username = {.claim = "email", .prefix = ""};
  ASSERT_TRUE(Use(config));
  json::Value claims = issuer_.Claims();
  claims["email"] = "ann@example.com";
  EXPECT_EQ(Refusal(issuer_.Sign(claims)), "");
  claims["email_verified"] = false;
  EXPECT_EQ(Refusal(issuer_.Sign(claims)), "oidc: email not verified");
  claims["email_verified"] = "true";
  EXPECT_NE(Refusal(issuer_.Sign(claims)).find("parse 'email_verified' claim"), std::string::npos);
  claims["email_verified"] = true;
  EXPECT_EQ(Refusal(issuer_.Sign(claims)), "");
}

TEST_F(TokenIssuerTest, ClaimsThatAreNoNamesAreRefused) {
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_NE(RefusedClaim("sub", 7).find("parse username claims \"sub\""), std::string::npos);
  EXPECT_NE(RefusedClaim("sub", "").find("parse username claims \"sub\""), std::string::npos);
  EXPECT_NE(RefusedClaim("groups", 7).find("parse groups claim"), std::string::npos);
  EXPECT_NE(RefusedClaim("groups", json::Array{"a", 7}).find("parse groups claim"), std::string::npos);
  EXPECT_EQ(RefusedClaim("groups", "one"), "");
  json::Value claims = issuer_.Claims();
  claims.as_object().Erase("groups");
  claims["_claim_names"] = json::Object{{"groups", "src"}};
  EXPECT_NE(Refusal(issuer_.Sign(claims)).find("distributed claims"), std::string::npos);
}

TEST_F(TokenIssuerTest, RequiredClaimsAreRequired) {
  auto config = issuer_.Config();
  config.claim_validation_rules = {{.claim = "hd", .required_value = "example.com"}};
  ASSERT_TRUE(Use(config));
  EXPECT_EQ(Refusal(issuer_.Sign(issuer_.Claims())), "oidc: required claim hd not present in ID token");
  EXPECT_NE(RefusedClaim("hd", "evil.com").find("value does not match"), std::string::npos);
  EXPECT_NE(RefusedClaim("hd", true).find("parse claim hd"), std::string::npos);
  EXPECT_EQ(RefusedClaim("hd", "example.com"), "");
}

TEST_F(TokenIssuerTest, AnUnknownKeyIsAskedForButNotWithEveryToken) {
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_EQ(issuer_.server().requests("/keys"), 1);
  const std::string old_token = issuer_.Sign(issuer_.Claims());
  issuer_.Rotate("two");
  const std::string token = issuer_.Sign(issuer_.Claims(), "ES256", "two");
  // Just fetched: nobody can make the server fetch again and again.
  EXPECT_NE(Refusal(token), "");
  EXPECT_EQ(issuer_.server().requests("/keys"), 1);
  clock_.Advance(TokenIssuer::kRefreshLimit);
  EXPECT_EQ(Refusal(token), "");
  EXPECT_EQ(issuer_.server().requests("/keys"), 2);
  for (int i = 0; i < 5; ++i) EXPECT_NE(Refusal(issuer_.Sign(issuer_.Claims(), "ES256", "three")), "");
  EXPECT_EQ(issuer_.server().requests("/keys"), 2);
  EXPECT_NE(Refusal(old_token), "") << "the key was withdrawn";
}

TEST_F(TokenIssuerTest, AWithdrawnKeyIsForgottenInTime) {
  ASSERT_TRUE(Use(issuer_.Config()));
  const std::string token = issuer_.Sign([&] {
    json::Value claims = issuer_.Claims();
    claims["exp"] = UnixNow() + 7 * 24 * 3600;
    return claims;
  }());
  issuer_.Rotate("two");
  clock_.Advance(TokenIssuer::kRefreshAge);
  EXPECT_EQ(Refusal(token), "");  // and has the keys fetched behind its back
  while (Refusal(token).empty()) {
  }
  EXPECT_EQ(issuer_.server().requests("/keys"), 2);
}

TEST_F(TokenIssuerTest, UntilTheIssuerAnswersItsTokensAreRefused) {
  issuer_.server().SetAnswer([](const net::Request&) { return net::Response{503, {}, ""}; });
  jwt_.Set({issuer_.Config()});
  EXPECT_EQ(Refusal(issuer_.Sign(issuer_.Claims())), "oidc: authenticator not initialized");
}

TEST_F(TokenIssuerTest, ADiscoveryDocumentOfAnotherIssuerIsNotBelieved) {
  issuer_.SayIssuer("https://other.example");
  EXPECT_FALSE(Use(issuer_.Config(), std::chrono::milliseconds(300)));
  EXPECT_EQ(Refusal(issuer_.Sign(issuer_.Claims())), "no opinion") << "the old configuration stays";
}

TEST_F(TokenIssuerTest, AnIssuerWithACertificateOfAnotherAuthorityIsNotBelieved) {
  FakeIssuer other;
  auto config = issuer_.Config();
  config.certificate_authority = other.server().ca_pem();
  EXPECT_FALSE(Use(config, std::chrono::milliseconds(300)));
  EXPECT_EQ(issuer_.server().requests("/"), 0);
}

TEST_F(TokenIssuerTest, TheDiscoveryUrlIsUsedInPlaceOfTheIssuers) {
  auto config = issuer_.Config();
  config.discovery_url = issuer_.server().url() + "/elsewhere";
  ASSERT_TRUE(Use(config));
  EXPECT_EQ(issuer_.server().requests("/elsewhere"), 1);
  EXPECT_EQ(issuer_.server().requests("/.well-known"), 0);
  EXPECT_EQ(Refusal(issuer_.Sign(issuer_.Claims())), "");
}

TEST_F(TokenIssuerTest, KeysThatAreTooLargeAreNotRead) {
  issuer_.Pad(2u << 20);
  ASSERT_TRUE(Use(issuer_.Config()));
  EXPECT_NE(Refusal(issuer_.Sign(issuer_.Claims())), "");
  issuer_.Pad(1000);
  clock_.Advance(TokenIssuer::kRefreshLimit);
  EXPECT_EQ(Refusal(issuer_.Sign(issuer_.Claims())), "");
}

TEST_F(TokenIssuerTest, AnIssuerThatNeverAnswersIsGivenUpWhenTheServerStops) {
  issuer_.server().SetAnswer([](const net::Request&) { return net::Response{}; });
  Notification<Status> done;
  jwt_.Replace({issuer_.Config()}, std::chrono::minutes(10), [&](const Status& s) { done.Set(s); });
  issuer_.server().WaitForRequest();
  calls_.Stop();
  EXPECT_FALSE(done.Wait());
}

TEST(KeySetTest, SkipsKeysThatAreNotForSignatures) {
  const auto parts = *net::DescribePublicKey(*net::MakePrivateKey(net::KeyType::kEcdsaP256));
  const auto key = [&](const char* use) {
    return json::Value(json::Object{
        {"kid", use}, {"kty", "EC"}, {"crv", "P-256"}, {"x", parts.x}, {"y", parts.y}, {"use", use}});
  };
  const json::Value set =
      json::Object{{"keys", json::Array{key("enc"), json::Value(json::Object{{"kty", "oct"}, {"k", "AAAA"}}),
                                        key("sig"), json::Value("junk")}}};
  const auto keys = ParseKeySet(json::Write(set));
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ(keys->front().id, "sig");
  EXPECT_FALSE(ParseKeySet("{}"));
  EXPECT_FALSE(ParseKeySet("{\"keys\":" + std::string(200, '[') + std::string(200, ']') + "}"));
  std::string many = "{\"keys\":[";
  for (std::size_t i = 0; i <= kMaxIssuerKeys; ++i) many += "{},";
  EXPECT_FALSE(ParseKeySet(many + "{}]}"));
}

}  // namespace
}  // namespace flyball::server
