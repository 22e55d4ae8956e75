// A service account's token is worth something as long as it is ours, in time, for us, and for what is still
// there.
#include "json/json.h"
#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const std::string kSpace = "/api/v1/namespaces/default";
constexpr char kIssuer[] = "https://kubernetes.default.svc.cluster.local";

class ServiceAccountTokenTest : public ServerFixture {
 protected:
  ServiceAccountTokenTest() : ServiceAccountTokenTest(*net::MakePrivateKey(net::KeyType::kEcdsaP256)) {}
  explicit ServiceAccountTokenTest(const std::string& key) : ServerFixture(Options(key)), key_(key) {
    account_uid_ = Uid(Do("POST", kSpace + "/serviceaccounts", R"({"metadata":{"name":"robot"}})"));
    Grant("system:serviceaccount:default:robot",
          R"([{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}])");
  }
  static ApiServerOptions Options(const std::string& key) {
    ApiServerOptions options;
    options.service_account_signing_key = key;
    options.admission.disable = {"ServiceAccount"};
    return options;
  }
  static std::string Uid(const std::shared_ptr<Reply>& made) {
    EXPECT_EQ(made->status, 201) << made->body;
    return std::string(made->value()["metadata"]["uid"].string_or(""));
  }

  std::string Issue(const std::string& spec = "") {
    const auto made = Do("POST", kSpace + "/serviceaccounts/robot/token", R"({"spec":{)" + spec + "}}");
    EXPECT_EQ(made->status, 201) << made->body;
    return std::string(made->value()["status"]["token"].string_or(""));
  }
  // 200 if the token is accepted.
  int Use(const std::string& token) {
    const int used = With({{"authorization", "Bearer " + token}}, "GET", kSpace + "/configmaps")->status;
    const auto review =
        Do("POST", "/apis/authentication.k8s.io/v1/tokenreviews", R"({"spec":{"token":")" + token + R"("}})");
    EXPECT_EQ(review->value()["status"]["authenticated"].bool_or(false), used == 200) << review->body;
    return used;
  }
  // The claims of a good token, to be made bad.
  json::Value Claims() {
    const auto jws = net::DecodeJws(Issue());
    return *json::Parse(jws->payload_json);
  }
  std::string Sign(const json::Value& claims, const std::string& key, const std::string& header = "") {
    const auto parts = net::DescribePublicKey(key);
    const std::string written =
        header.empty() ? R"({"alg":")" + parts->algorithm + R"(","kid":")" + parts->key_id + R"("})" : header;
    return *net::SignJws(written, json::Write(claims), key);
  }
  std::string Sign(const json::Value& claims) { return Sign(claims, key_); }

  const std::string key_;
  std::string account_uid_;
};

TEST_F(ServiceAccountTokenTest, AGoodOneIsAccepted) {
  EXPECT_EQ(Use(Issue()), 200);
  EXPECT_EQ(Use(Sign(Claims())), 200);
}

TEST_F(ServiceAccountTokenTest, AnotherKeysSignatureIsNot) {
  const json::Value claims = Claims();
  const std::string other = *net::MakePrivateKey(net::KeyType::kEcdsaP256);
  EXPECT_EQ(Use(Sign(claims, other)), 401);
  // Nor with our key's name on it.
  const auto ours = net::DescribePublicKey(key_);
  EXPECT_EQ(Use(Sign(claims, other, R"({"alg":"ES256","kid":")" + ours->key_id + R"("})")), 401);
  EXPECT_EQ(Use(Sign(claims, *net::MakePrivateKey(net::KeyType::kRsa2048))), 401);
}

TEST_F(ServiceAccountTokenTest, AChangedOneIsNot) {
  const std::string token = Issue();
  const auto first = token.find('.'), second = token.rfind('.');
  json::Value claims = *json::Parse(net::DecodeJws(token)->payload_json);
  claims["sub"] = "system:serviceaccount:kube-system:admin";
  const std::string changed =
      token.substr(0, first + 1) + net::Base64UrlEncode(json::Write(claims)) + token.substr(second);
  EXPECT_EQ(Use(changed), 401);
  const std::string none = net::Base64UrlEncode(R"({"alg":"none"})");
  EXPECT_EQ(Use(none + token.substr(first, second - first + 1)), 401);
  EXPECT_EQ(Use(token.substr(0, second + 1)), 401);
  EXPECT_EQ(Use(token.substr(0, second)), 401);
  // The public key is no secret: it signs nothing.
  const std::string mac = net::Base64UrlEncode(R"({"alg":"HS256"})");
  EXPECT_EQ(Use(mac + token.substr(first)), 401);
}

TEST_F(ServiceAccountTokenTest, AnExpiredOneIsNot) {
  const std::string token = Issue(R"("expirationSeconds":600)");
  EXPECT_EQ(Use(token), 200);
  sim_.RunFor(std::chrono::minutes(9));
  EXPECT_EQ(Use(token), 200);
  sim_.RunFor(std::chrono::minutes(3));
  EXPECT_EQ(Use(token), 401);
  json::Value claims = Claims();
  claims.as_object().Erase("exp");
  EXPECT_EQ(Use(Sign(claims)), 401) << "a token without an end";
}

TEST_F(ServiceAccountTokenTest, OneOfTheFutureIsNot) {
  json::Value claims = Claims();
  claims["nbf"] = claims["nbf"].int_or(0) + 3600;
  claims["exp"] = claims["nbf"].int_or(0) + 3600;
  EXPECT_EQ(Use(Sign(claims)), 401);
}

TEST_F(ServiceAccountTokenTest, OneForAnotherAudienceIsNot) {
  EXPECT_EQ(Use(Issue(R"("audiences":["vault"])")), 401);
  EXPECT_EQ(Use(Issue(R"("audiences":["vault",")" + std::string(kIssuer) + R"("])")), 200);
  json::Value claims = Claims();
  claims.as_object().Erase("aud");
  EXPECT_EQ(Use(Sign(claims)), 401);
  // Whoever asks for that audience is told whose it is.
  const std::string token = Issue(R"("audiences":["vault"])");
  const auto review = Do("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                         R"({"spec":{"audiences":["vault"],"token":")" + token + R"("}})");
  EXPECT_TRUE(review->value()["status"]["authenticated"].bool_or(false)) << review->body;
  const auto other = Do("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                        R"({"spec":{"audiences":["other"],"token":")" + token + R"("}})");
  EXPECT_FALSE(other->value()["status"]["authenticated"].bool_or(false)) << other->body;
}

TEST_F(ServiceAccountTokenTest, OneOfAnotherIssuerIsNot) {
  json::Value claims = Claims();
  claims["iss"] = "https://example.com";
  EXPECT_EQ(Use(Sign(claims)), 401);
  claims.as_object().Erase("iss");
  EXPECT_EQ(Use(Sign(claims)), 401);
}

TEST_F(ServiceAccountTokenTest, OneOfADeletedAccountIsNot) {
  const std::string token = Issue();
  Do("DELETE", kSpace + "/serviceaccounts/robot");
  EXPECT_EQ(Use(token), 401);
  // A new account of the same name is another one.
  Do("POST", kSpace + "/serviceaccounts", R"({"metadata":{"name":"robot"}})");
  EXPECT_EQ(Use(token), 401);
  EXPECT_EQ(Use(Issue()), 200);
}

TEST_F(ServiceAccountTokenTest, OneOfADeletedPodIsNot) {
  const std::string pod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  const std::string uid = Uid(Do("POST", kSpace + "/pods", pod));
  const std::string token =
      Issue(R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p","uid":")" + uid + R"("})");
  EXPECT_EQ(Use(token), 200);
  Do("DELETE", kSpace + "/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(Use(token), 401);
  Uid(Do("POST", kSpace + "/pods", pod));
  EXPECT_EQ(Use(token), 401);
}

TEST_F(ServiceAccountTokenTest, OneOfADeletedSecretIsNot) {
  const std::string uid = Uid(Do("POST", kSpace + "/secrets", R"({"metadata":{"name":"s"}})"));
  const std::string token =
      Issue(R"("boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s","uid":")" + uid + R"("})");
  EXPECT_EQ(Use(token), 200);
  Do("DELETE", kSpace + "/secrets/s");
  EXPECT_EQ(Use(token), 401);
}

TEST_F(ServiceAccountTokenTest, OneOfADeletedNodeIsNot) {
  const std::string uid = Uid(Do("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})"));
  const std::string token =
      Issue(R"("boundObjectRef":{"apiVersion":"v1","kind":"Node","name":"n","uid":")" + uid + R"("})");
  EXPECT_EQ(Use(token), 200);
  Do("DELETE", "/api/v1/nodes/n");
  EXPECT_EQ(Use(token), 401);
}

// Something still holds the objects, but they were deleted more than a moment ago.
TEST_F(ServiceAccountTokenTest, OneOfWhatWaitsForItsFinalizersIsNot) {
  Do("POST", kSpace + "/secrets", R"({"metadata":{"name":"s","finalizers":["example.com/hold"]}})");
  const std::string token = Issue(R"("boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s"})");
  Do("DELETE", kSpace + "/secrets/s");
  EXPECT_EQ(Use(token), 200);
  sim_.RunFor(std::chrono::seconds(62));
  EXPECT_EQ(Use(token), 401);
}

TEST_F(ServiceAccountTokenTest, TokensAreBoundToWhatIsThere) {
  const auto ask = [&](const std::string& reference) {
    return Do("POST", kSpace + "/serviceaccounts/robot/token",
              R"({"spec":{"boundObjectRef":)" + reference + "}}")
        ->status;
  };
  EXPECT_EQ(ask(R"({"apiVersion":"v1","kind":"Pod","name":"none"})"), 404);
  EXPECT_EQ(ask(R"({"apiVersion":"v1","kind":"ConfigMap","name":"m"})"), 400);
  Do("POST", kSpace + "/secrets", R"({"metadata":{"name":"s"}})");
  EXPECT_EQ(ask(R"({"apiVersion":"v1","kind":"Secret","name":"s","uid":"other"})"), 409);
}

}  // namespace
}  // namespace flyball::server
