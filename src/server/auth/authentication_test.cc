// Who comes in, and who does not: certificates, token files, and requests without credentials.
#include "server/auth/authentication.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

net::Request WithCertificate(bool verified, const std::string& name, const std::vector<std::string>& groups) {
  net::Request request;
  request.peer.tls = true;
  request.peer.certificate_sha256 = "abc";
  request.peer.verified = verified;
  request.peer.common_name = name;
  request.peer.organizations = groups;
  return request;
}

TEST(CertificateAuthenticatorTest, ACertificateNamesUserAndGroups) {
  const auto user = NewCertificateAuthenticator()->Authenticate(WithCertificate(true, "alice", {"dev"}));
  ASSERT_TRUE(user && *user);
  EXPECT_EQ((*user)->name, "alice");
  EXPECT_EQ((*user)->groups, std::vector<std::string>{"dev"});
}

TEST(CertificateAuthenticatorTest, ACertificateOfAnotherAuthorityIsRefused) {
  const auto user =
      NewCertificateAuthenticator()->Authenticate(WithCertificate(false, "alice", {"system:masters"}));
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().code(), 401);
}

TEST(CertificateAuthenticatorTest, ACertificateWithoutANameIsNobody) {
  const auto user =
      NewCertificateAuthenticator()->Authenticate(WithCertificate(true, "", {"system:masters"}));
  ASSERT_TRUE(user);
  EXPECT_FALSE(*user);
}

// Token files on the disk of the test.
class TokenFileTest : public ServerFixture {
 protected:
  TokenFileTest() {
    std::string name = testing::TempDir() + "tokensXXXXXX";
    const int fd = ::mkstemp(name.data());
    ::close(fd);
    path_ = name;
  }
  ~TokenFileTest() override { std::filesystem::remove(path_); }

  void Restart(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    ApiServerOptions options;
    options.authentication.token_auth_file = path_;
    admin_.reset();
    server_.reset();
    server_ = std::move(*ApiServer::Make(options, *store_, sim_, random_, metrics_));
    admin_ = server_->InProcess({"admin", "", {"system:masters"}, {}});
  }
  std::string WhoHas(const std::string& token) {
    const auto reply = With({{"authorization", "Bearer " + token}}, "POST",
                            "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}");
    if (reply->status != 201) return std::to_string(reply->status);
    const auto info = reply->value()["status"]["userInfo"];
    std::string text(info["username"].string_or(""));
    for (const auto& group : info["groups"].as_array()) text += " [" + std::string(group.string_or("")) + "]";
    return text;
  }
  Error Refused(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    auto made = NewTokenFileAuthenticator(path_);
    EXPECT_FALSE(made) << text;
    return made ? InternalError("accepted") : made.error();
  }
  std::string path_;
};

TEST_F(TokenFileTest, ATokenOfTheFileIsItsUsers) {
  Restart("t1,alice,1,\"g1,g2\"\nt2,bob,2\n");
  EXPECT_EQ(WhoHas("t1"), "alice [g1] [g2] [system:authenticated]");
  EXPECT_EQ(WhoHas("t2"), "bob [system:authenticated]");
  EXPECT_EQ(WhoHas("t3"), "401");
  EXPECT_EQ(WhoHas("t"), "401");
  EXPECT_EQ(WhoHas("t11"), "401");
}

TEST_F(TokenFileTest, LineEndsOfWindowsAreNoPartOfAGroup) {
  Restart("t1,alice,1,g1\r\nt2,bob,2,\"g1,g2\"\r\n");
  EXPECT_EQ(WhoHas("t1"), "alice [g1] [system:authenticated]");
  EXPECT_EQ(WhoHas("t2"), "bob [g1] [g2] [system:authenticated]");
}

TEST_F(TokenFileTest, OfARepeatedTokenTheLastRecordCounts) {
  Restart("t1,alice,1,system:masters\nt1,bob,2\n");
  EXPECT_EQ(WhoHas("t1"), "bob [system:authenticated]");
}

TEST_F(TokenFileTest, AnEmptyTokenIsNobodys) {
  Restart(",root,1,system:masters\nt1,alice,1\n");
  EXPECT_EQ(With({{"authorization", "Bearer "}}, "GET", "/api/v1/secrets")->status, 403);
  EXPECT_EQ(WhoHas("t1"), "alice [system:authenticated]");
}

TEST_F(TokenFileTest, MalformedFilesAreRefused) {
  EXPECT_NE(Refused("t1,alice\n")
                .message()
                .find("must have at least 3 columns (token, user name, user uid), found 2"),
            std::string::npos);
  EXPECT_NE(Refused("t1,\"alice,1\n").message().find("parse error on line 1"), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_FALSE(NewTokenFileAuthenticator(path_));
}

struct AnonymousTest : ServerFixture {
  AnonymousTest() : ServerFixture(Options()) {}
  static ApiServerOptions Options() {
    ApiServerOptions options;
    options.authentication.anonymous = false;
    return options;
  }
};

TEST_F(AnonymousTest, IsSwitchedOff) {
  EXPECT_EQ(With({}, "GET", "/version")->status, 401);
  EXPECT_EQ(With({{"authorization", "Bearer x"}}, "GET", "/version")->status, 401);
}

struct CredentialsTest : ServerFixture {};

TEST_F(CredentialsTest, ABadCredentialIsNotTreatedAsNone) {
  EXPECT_EQ(With({}, "GET", "/version")->status, 200);
  EXPECT_EQ(With({{"authorization", "Bearer x"}}, "GET", "/version")->status, 401);
  EXPECT_EQ(With({{"upgrade", "websocket"},
                  {"sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.eA, v4.channel.k8s.io"}},
                 "GET", "/version")
                ->status,
            401);
  EXPECT_EQ(
      With({{"upgrade", "websocket"}, {"sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.eA"}},
           "GET", "/version")
          ->status,
      401);
}

TEST_F(CredentialsTest, AnonymousUsersMayAlmostNothing) {
  for (const std::string path : {"/api/v1/namespaces", "/api/v1/secrets", "/metrics", "/apis", "/logs"})
    EXPECT_EQ(With({}, "GET", path)->status, 403) << path;
}

TEST(IdentityHeaderTest, HeadersThatNameTheCallerAreForThisServerAlone) {
  AuthenticatorChain::Methods methods;
  methods.header_names = {"x-our-user"};
  methods.header_prefixes = {"x-our-extra-"};
  const AuthenticatorChain chain(std::move(methods), {}, AnonymousAccess{});
  for (const char* name : {"authorization", "impersonate-user", "impersonate-extra-scopes", "x-remote-user",
                           "x-remote-extra-a", "x-our-user", "x-our-extra-tenant"})
    EXPECT_TRUE(chain.IsIdentityHeader(name)) << name;
  for (const char* name : {"accept", "x-forwarded-for", "x-our-users", "x-our-extra"})
    EXPECT_FALSE(chain.IsIdentityHeader(name)) << name;
}

}  // namespace
}  // namespace flyball::server
