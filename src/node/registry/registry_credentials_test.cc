#include "node/registry/registry_credentials.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"

namespace flyball::node {
namespace {

std::string UsersFor(const std::string& config, const std::string& repository) {
  const auto all = ParseDockerConfig(config);
  if (!all) return "error: " + all.error().message();
  std::string users;
  for (const auto& one : CredentialsFor(*all, repository)) users += one.user + ":" + one.password + " ";
  return users;
}

TEST(RegistryCredentialsTest, ReadsWhatDockerWrites) {
  const std::string auth = net::Base64Encode("alice:se:cret");
  const auto all =
      ParseDockerConfig(R"({"auths":{"r.example.com":{"auth":")" + auth + R"("},"token.example.com":
      {"identitytoken":"t"}},"credsStore":"desktop"})");
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].user, "alice");
  EXPECT_EQ((*all)[0].password, "se:cret");
  EXPECT_EQ((*all)[1].identity_token, "t");
  EXPECT_EQ(ParseLegacyDockerConfig(R"({"r.example.com":{"username":"u","password":"p"}})")->at(0).user, "u");
}

TEST(RegistryCredentialsTest, RefusesWhatIsDamagedWithoutQuotingIt) {
  const auto text = ParseDockerConfig("{\"auths\": {\"x\": {\"password\": \"secret\"");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message().find("secret"), std::string::npos);
  EXPECT_FALSE(ParseDockerConfig(R"({"auths":{"x":{"auth":"!!"}}})"));
  EXPECT_FALSE(ParseDockerConfig(R"({"auths":{"x":{"auth":"bm9jb2xvbg=="}}})"));
  EXPECT_FALSE(ParseDockerConfig("[]"));
}

TEST(RegistryCredentialsTest, FindsTheMostSpecificFirst) {
  const std::string config = R"({"auths":{
      "quay.io":{"username":"all","password":"1"},
      "https://quay.io/coreos":{"username":"team","password":"2"},
      "*.example.com":{"username":"glob","password":"3"},
      "localhost:5000":{"username":"local","password":"4"},
      "https://index.docker.io/v1/":{"username":"hub","password":"5"}}})";
  EXPECT_EQ(UsersFor(config, "quay.io/coreos/etcd"), "team:2 all:1 ");
  EXPECT_EQ(UsersFor(config, "quay.io/other"), "all:1 ");
  EXPECT_EQ(UsersFor(config, "eu.example.com/x"), "glob:3 ");
  EXPECT_EQ(UsersFor(config, "a.eu.example.com/x"), "") << "a wildcard does not match a dot";
  EXPECT_EQ(UsersFor(config, "localhost:5000/x"), "local:4 ");
  EXPECT_EQ(UsersFor(config, "localhost:5001/x"), "") << "another port is another registry";
  EXPECT_EQ(UsersFor(config, "localhost/x"), "");
  EXPECT_EQ(UsersFor(config, "docker.io/library/busybox"), "hub:5 ");
}

TEST(RegistryCredentialsTest, DigestsTellCredentialsApart) {
  EXPECT_NE(CredentialsDigest({.registry = "r", .user = "ab", .password = "c"}),
            CredentialsDigest({.registry = "r", .user = "a", .password = "bc"}));
}

}  // namespace
}  // namespace flyball::node
