#include "server/auth/request_header.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

class RequestHeaderTest : public testing::Test {
 protected:
  net::Request From(const net::KeyPair& authority, const std::string& name, bool client = true) {
    const auto pair = *net::IssueCertificate(
        authority, {.common_name = name, .server = !client, .client = client}, now_, kDay);
    net::Request request;
    request.peer.tls = true;
    request.peer.certificate_sha256 = "x";
    request.peer.certificates = *net::PeerCertificates::Parse(pair.certificate_pem);
    request.headers.Add("x-remote-user", "ann");
    request.headers.Add("x-remote-uid", "42");
    request.headers.Add("x-remote-group", "dev");
    request.headers.Add("x-remote-group", "ops");
    request.headers.Add("x-remote-extra-example.org%2fscopes", "a");
    request.headers.Add("x-remote-extra-example.org%2fscopes", "b");
    return request;
  }
  Result<std::optional<User>> Check(const net::Request& request) {
    return NewRequestHeaderAuthenticator(options_, trusted_, RealClock())->Authenticate(request);
  }

  const TimePoint now_ = RealClock().Now() - std::chrono::minutes(1);
  const net::KeyPair proxies_ = *net::MakeCertificateAuthority("proxies", now_, kDay);
  const net::KeyPair users_ = *net::MakeCertificateAuthority("users", now_, kDay);
  const std::shared_ptr<TrustedAuthorities> trusted_ = *TrustedAuthorities::Make(proxies_.certificate_pem);
  RequestHeaderOptions options_{.client_ca_file = "f",
                                .username_headers = {"X-Remote-User"},
                                .uid_headers = {"X-Remote-Uid"},
                                .group_headers = {"X-Remote-Group"},
                                .extra_header_prefixes = {"X-Remote-Extra-"},
                                .allowed_names = {"front"}};
};

TEST_F(RequestHeaderTest, AProxyNamesTheUser) {
  const auto user = Check(From(proxies_, "front"));
  ASSERT_TRUE(user && *user);
  const User wanted{"ann", "42", {"dev", "ops"}, {{"example.org/scopes", {"a", "b"}}}};
  EXPECT_EQ(**user, wanted);
}

TEST_F(RequestHeaderTest, AUserOfAnotherAuthorityCannotNameAnybody) {
  EXPECT_EQ(*Check(From(users_, "front")), std::nullopt);
}

TEST_F(RequestHeaderTest, AConnectionWithoutACertificateCannotNameAnybody) {
  net::Request request = From(proxies_, "front");
  request.peer.certificates = nullptr;
  EXPECT_EQ(*Check(request), std::nullopt);
}

TEST_F(RequestHeaderTest, AProxyWithAnotherNameIsRefused) {
  const auto user = Check(From(proxies_, "back"));
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().message(), "x509: subject with cn=back is not in the allowed list");
  options_.allowed_names.clear();
  EXPECT_TRUE(*Check(From(proxies_, "back"))) << "any name will do if none is asked for";
}

TEST_F(RequestHeaderTest, AServersCertificateIsNoProxys) {
  EXPECT_EQ(*Check(From(proxies_, "front", false)), std::nullopt);
}

TEST_F(RequestHeaderTest, WithoutANameThereIsNobody) {
  net::Request request = From(proxies_, "front");
  request.headers.Remove("x-remote-user");
  EXPECT_EQ(*Check(request), std::nullopt);
}

TEST_F(RequestHeaderTest, AReplacedAuthorityCountsAtOnce) {
  const auto request = From(proxies_, "front");
  ASSERT_TRUE(*Check(request));
  ASSERT_TRUE(trusted_->Set(users_.certificate_pem));
  EXPECT_EQ(*Check(request), std::nullopt);
  EXPECT_FALSE(trusted_->Set("junk"));
  EXPECT_TRUE(*Check(From(users_, "front"))) << "what is no good changes nothing";
}

}  // namespace
}  // namespace flyball::server
