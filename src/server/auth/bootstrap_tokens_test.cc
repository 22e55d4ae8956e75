#include "server/auth/bootstrap_tokens.h"

#include "api/values/time.h"
#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

ApiServerOptions WithBootstrapTokens() {
  ApiServerOptions options;
  options.authentication.bootstrap_tokens = true;
  return options;
}

constexpr const char* kToken = "abcdef.0123456789abcdef";

class BootstrapTokensTest : public ServerFixture {
 protected:
  BootstrapTokensTest() : ServerFixture(WithBootstrapTokens()) {}
  explicit BootstrapTokensTest(const ApiServerOptions& options) : ServerFixture(options) {}

  // A Secret that is in order but for `changes`.
  void Make(const std::map<std::string, std::string>& changes = {},
            const std::string& type = "bootstrap.kubernetes.io/token",
            const std::string& space = "kube-system") {
    std::map<std::string, std::string> data{{"token-id", "abcdef"},
                                            {"token-secret", "0123456789abcdef"},
                                            {"usage-bootstrap-authentication", "true"}};
    for (const auto& [key, value] : changes) data[key] = value;
    json::Object encoded;
    for (const auto& [key, value] : data) encoded.Set(key, net::Base64Encode(value));
    const json::Value secret = json::Object{{"apiVersion", "v1"},
                                            {"kind", "Secret"},
                                            {"metadata", json::Object{{"name", "bootstrap-token-abcdef"}}},
                                            {"type", type},
                                            {"data", std::move(encoded)}};
    const auto made = Do("POST", "/api/v1/namespaces/" + space + "/secrets", json::Write(secret));
    ASSERT_EQ(made->status, 201) << made->body;
  }
  json::Value Review(const std::string& token) {
    const auto reply =
        Do("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
           R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":")" + token +
               R"("}})");
    return reply->value()["status"];
  }
  bool Accepted(const std::string& token = kToken) { return Review(token)["authenticated"].bool_or(false); }
  std::string In(Duration delay) { return api::FormatTime(sim_.clock().Now() + delay); }
};

TEST_F(BootstrapTokensTest, ATokenIsABootstrapper) {
  Make({{"auth-extra-groups", "system:bootstrappers:workers,system:bootstrappers:kubeadm:default"},
        {"expiration", In(std::chrono::hours(1))}});
  const auto status = Review(kToken);
  EXPECT_TRUE(status["authenticated"].bool_or(false));
  EXPECT_EQ(status["user"]["username"].string_or(""), "system:bootstrap:abcdef");
  EXPECT_EQ(
      json::Write(status["user"]["groups"]),
      R"(["system:bootstrappers","system:bootstrappers:kubeadm:default","system:bootstrappers:workers",)"
      R"("system:authenticated"])");
}

TEST_F(BootstrapTokensTest, AnotherSecretPartIsRefused) {
  Make();
  EXPECT_TRUE(Accepted());
  EXPECT_FALSE(Accepted("abcdef.0123456789abcdee"));
  EXPECT_FALSE(Accepted("abcdeg.0123456789abcdef"));
  EXPECT_FALSE(Accepted("ABCDEF.0123456789abcdef"));
  EXPECT_FALSE(Accepted("abcdef.0123456789abcdef0"));
}

TEST_F(BootstrapTokensTest, AnExpiredTokenIsRefused) {
  Make({{"expiration", In(std::chrono::minutes(10))}});
  EXPECT_TRUE(Accepted());
  sim_.RunFor(std::chrono::minutes(11));
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, ATokenWithoutTheUsageIsRefused) {
  Make({{"usage-bootstrap-authentication", "false"}});
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, AnotherIdInsideIsRefused) {
  Make({{"token-id", "zzzzzz"}}, "Opaque");  // of the right type it could not be created
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, AnotherTypeIsRefused) {
  Make({}, "Opaque");
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, AnotherNamespaceIsRefused) {
  Make({}, "bootstrap.kubernetes.io/token", "default");
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, GroupsOfOthersAreRefused) {
  Make({{"auth-extra-groups", "system:masters"}});
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, ATimeThatIsNoneHasPassed) {
  Make({{"expiration", "soon"}});
  EXPECT_FALSE(Accepted());
}

TEST_F(BootstrapTokensTest, ADeletedTokenIsRefused) {
  Make();
  ASSERT_TRUE(Accepted());
  Do("DELETE", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef");
  EXPECT_FALSE(Accepted());
}

class NoBootstrapTokensTest : public BootstrapTokensTest {
 protected:
  NoBootstrapTokensTest() : BootstrapTokensTest(ApiServerOptions{}) {}
};

TEST_F(NoBootstrapTokensTest, WithoutTheFlagNoneIsAccepted) {
  Make();
  EXPECT_FALSE(Accepted());
}

}  // namespace
}  // namespace flyball::server
