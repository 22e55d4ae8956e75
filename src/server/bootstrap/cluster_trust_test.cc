#include "server/bootstrap/cluster_trust.h"

#include "net/tls/authorities.h"
#include "net/tls/pki.h"
#include "server/auth/trusted_authorities.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

std::string Authority(const char* name) {
  return net::MakeCertificateAuthority(name, RealClock().Now(), std::chrono::hours(24 * 3650))
      ->certificate_pem;
}

ApiServerOptions WithAuthorities() {
  ApiServerOptions options;
  auto& authentication = options.authentication;
  authentication.client_authorities = *TrustedAuthorities::Make(Authority("users"));
  authentication.proxy_authorities = *TrustedAuthorities::Make(Authority("proxies"));
  authentication.request_header.username_headers = {"X-Remote-User"};
  authentication.request_header.group_headers = {"X-Remote-Group"};
  authentication.request_header.extra_header_prefixes = {"X-Remote-Extra-"};
  authentication.request_header.allowed_names = {"front"};
  return options;
}

class ClusterTrustTest : public ServerFixture {
 protected:
  explicit ClusterTrustTest(const ApiServerOptions& options = WithAuthorities())
      : ServerFixture(options), options_(options.authentication) {
    sim_.RunReady();
  }
  std::shared_ptr<Reply> Get() {
    return Do("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  }

  const AuthenticationOptions options_;
};

TEST_F(ClusterTrustTest, SaysWhomToBelieve) {
  const auto data = Get()->value()["data"];
  EXPECT_EQ(data["client-ca-file"].string_or(""), options_.client_authorities->pem());
  EXPECT_EQ(data["requestheader-client-ca-file"].string_or(""), options_.proxy_authorities->pem());
  EXPECT_EQ(data["requestheader-username-headers"].string_or(""), "[\"X-Remote-User\"]");
  EXPECT_EQ(data["requestheader-group-headers"].string_or(""), "[\"X-Remote-Group\"]");
  EXPECT_EQ(data["requestheader-extra-headers-prefix"].string_or(""), "[\"X-Remote-Extra-\"]");
  EXPECT_EQ(data["requestheader-allowed-names"].string_or(""), "[\"front\"]");
  EXPECT_FALSE(data.Find("requestheader-uid-headers"));
}

TEST_F(ClusterTrustTest, ComesBackWhenDeleted) {
  ASSERT_EQ(
      Do("DELETE", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")->status,
      200);
  sim_.RunReady();
  EXPECT_EQ(Get()->status, 200);
}

TEST_F(ClusterTrustTest, ANewAuthorityIsAdded) {
  const std::string before = options_.client_authorities->pem(), after = Authority("new");
  ASSERT_TRUE(options_.client_authorities->Set(after));
  server_->PublishTrust();
  sim_.RunReady();
  EXPECT_EQ(Get()->value()["data"]["client-ca-file"].string_or(""), before + after);
}

TEST_F(ClusterTrustTest, AnExpiredAuthorityGoes) {
  const auto old = net::MakeCertificateAuthority("old", RealClock().Now() - std::chrono::hours(48),
                                                 std::chrono::hours(24));
  const json::Value existing = json::Object{{"client-ca-file", old->certificate_pem}};
  const auto data = ClusterTrustData(existing, options_, RealClock().Now());
  EXPECT_EQ(data["client-ca-file"].string_or(""), options_.client_authorities->pem());
}

TEST(ClusterTrustDataTest, WithoutAProxyThereAreNoHeaders) {
  AuthenticationOptions options;
  options.client_authorities = *TrustedAuthorities::Make(Authority("users"));
  const auto data = ClusterTrustData({}, options, RealClock().Now());
  EXPECT_EQ(data.size(), 1u);
}

}  // namespace
}  // namespace flyball::server
