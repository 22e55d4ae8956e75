#include "node/registry/registry_hosts.h"

#include <gtest/gtest.h>

namespace flyball::node {
namespace {

std::string UrlsOf(const RegistryHosts& hosts, const std::string& registry) {
  std::string urls;
  for (const auto& endpoint : hosts.EndpointsOf(registry)) {
    urls += endpoint.url + (endpoint.mirror ? " (mirror)" : "");
    urls += endpoint.credentials ? " as " + endpoint.credentials->user + "; " : "; ";
  }
  return urls;
}

TEST(RegistryHostsTest, WithoutAFileLoopbackIsPlainAndTheRestIsTls) {
  const auto hosts = RegistryHosts::Load("/no/such/file");
  ASSERT_TRUE(hosts);
  EXPECT_EQ(UrlsOf(*hosts, "docker.io"), "https://registry-1.docker.io; ");
  EXPECT_EQ(UrlsOf(*hosts, "quay.io"), "https://quay.io; ");
  EXPECT_EQ(UrlsOf(*hosts, "localhost:5000"), "http://localhost:5000; ");
  EXPECT_EQ(UrlsOf(*hosts, "127.0.0.1:5000"), "http://127.0.0.1:5000; ");
  EXPECT_EQ(UrlsOf(*hosts, "[::1]:5000"), "http://[::1]:5000; ");
  EXPECT_EQ(UrlsOf(*hosts, "localhost.example.com:5000"), "https://localhost.example.com:5000; ");
}

TEST(RegistryHostsTest, AsksMirrorsFirst) {
  const auto hosts = RegistryHosts::Parse(R"(
mirrors:
  docker.io: {endpoint: ["http://mirror:5000/"]}
  plain.example.com: {endpoint: ["http://plain.example.com"]}
  "*": {endpoint: ["https://any/prefix"]}
configs:
  mirror:5000: {auth: {username: m, password: p}}
  any: {tls: {insecure_skip_verify: true}}
)");
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_EQ(UrlsOf(*hosts, "docker.io"), "http://mirror:5000 (mirror) as m; https://registry-1.docker.io; ");
  EXPECT_EQ(UrlsOf(*hosts, "plain.example.com"), "http://plain.example.com; ");
  EXPECT_EQ(UrlsOf(*hosts, "quay.io"), "https://any/prefix (mirror); https://quay.io; ");
  EXPECT_TRUE(hosts->TlsOf("any").insecure_skip_verify);
  EXPECT_FALSE(hosts->TlsOf("quay.io").insecure_skip_verify);
}

TEST(RegistryHostsTest, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(RegistryHosts::Parse("mirror: {}"));
  EXPECT_FALSE(RegistryHosts::Parse("mirrors: {docker.io: {endpoints: []}}"));
  EXPECT_FALSE(RegistryHosts::Parse("mirrors: {docker.io: {endpoint: [\"ftp://x\"]}}"));
  EXPECT_FALSE(RegistryHosts::Parse("configs: {x: {tls: {ca_file: /no/such/file}}}"));
  EXPECT_FALSE(RegistryHosts::Parse("configs: {x: {auth: {user: u}}}"));
}

}  // namespace
}  // namespace flyball::node
